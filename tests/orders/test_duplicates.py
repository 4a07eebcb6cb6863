"""Ordered before? People are told before anything is placed and decide; programs get a flag and are never blocked."""

from datetime import date, timedelta

import pytest
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from foundation.reasons import Reason
from orders import duplicates, services
from orders.models import Intake, Order
from tests.dashboard.desk import Desk
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_actor, make_ready_intake, make_request, make_test_version
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
TEST, FILE, LABEL = Reason.DUPLICATE_TEST, Reason.DUPLICATE_FILE, Reason.DUPLICATE_SPECIMEN
OKAFOR = {
    "mrn": "88·1204",
    "family_name": "Okafor",
    "given_name": "Ngozi",
    "birth_date": date(1961, 3, 14),
}


@pytest.fixture
def ward():
    return Ward()


def requester(ward):
    return make_actor(role=Role.REQUESTER, organisation=ward.hospital)


def looks(ward, actor=None, *, intake=None, **changes):
    """Order → why another order would look like it."""
    intake = intake or ward.intake()
    found = duplicates.alike(actor or requester(ward), make_request(intake, **changes), intake)
    return {one.order.pk: one.reasons for one in found}


def test_the_same_patient_and_test_within_fourteen_days(ward, monkeypatch):
    order, start = ward.order(patient=patient()), clock.now()
    assert looks(ward, patient=patient()) == {order.pk: (TEST,)}
    assert looks(ward) == {}
    monkeypatch.setattr(clock, "_source", lambda: start + timedelta(days=14, minutes=1))
    assert looks(ward, patient=patient()) == {}


def test_a_number_with_other_details_is_a_question_and_no_duplicate_of_the_patient_who_has_it(ward):
    ward.order(patient=patient())
    assert looks(ward, patient=patient(family_name="Another")) == {}
    assert looks(ward, patient=patient(family_name="  MUSTER ")) != {}  # as the identity check reads it


def test_a_closed_order_counts_and_one_of_which_nothing_came_does_not(ward):
    reported, cancelled = ward.scored(patient=patient()), ward.order(patient=patient())
    services.cancel(actor=requester(ward), order=cancelled, reason="twice", expected_edits=cancelled.edits)
    assert looks(ward, patient=patient()) == {reported.pk: (TEST,)}


def test_another_test_of_the_same_patient_is_no_duplicate(ward):
    ward.order(patient=patient())
    other = make_ready_intake(test_version=make_test_version(laboratory=ward.laboratory), organisation=ward.hospital)
    assert looks(ward, intake=other, patient=patient()) == {}


def test_the_same_file_and_sample_for_the_same_test_whoever_the_patient(ward):
    order, again = ward.order(), ward.intake()
    Intake.objects.filter(pk=again.pk).update(file=order.intake.file)
    again.refresh_from_db()
    assert looks(ward, intake=again) == {order.pk: (FILE,)}
    Intake.objects.filter(pk=again.pk).update(sample="TUMOUR")
    again.refresh_from_db()
    assert looks(ward, intake=again) == {}


def test_the_same_specimen_label_says_when_it_is_another_patients(ward):
    order = ward.order()
    request = make_request(ward.intake(), specimen=make_request(order.intake).specimen)
    label = type(request.specimen)(f" {order.specimen.identifier} ", "isolate", "", request.specimen.collected_at)
    intake = ward.intake()
    found = duplicates.alike(requester(ward), make_request(intake, specimen=label), intake)
    assert [(one.order.pk, one.reasons, one.other_patient) for one in found] == [(order.pk, (LABEL,), True)]


def test_only_orders_of_the_same_organisation_that_he_may_see_are_named(ward):
    order = ward.order(patient=patient())
    assert looks(ward, make_actor(role=Role.ANALYST, organisation=ward.laboratory), patient=patient()) == {order.pk: (TEST,)}
    assert looks(ward, make_actor(role=Role.REQUESTER, organisation=Ward().hospital), patient=patient()) == {}


def test_a_program_is_not_blocked_and_its_order_says_what_it_looks_like(ward):
    first = ward.order(patient=patient())
    second = ward.order(patient=patient())
    facts = Event.objects.get(object_id=str(second.pk), action="order.placed").facts
    assert facts["alike"] == {str(first.pk): [TEST]} and facts["nevertheless"] is False
    assert [(one.order, one.reasons) for one in duplicates.noted(requester(ward), second)] == [(first, (TEST,))]
    page = read(ward.analyst(), "order", second.pk)
    assert first.accession in page and "it looks like another order" in page


def test_a_person_is_told_with_links_and_places_it_nevertheless_under_his_name(ward):
    desk, first = Desk(ward), ward.order(patient=patient(**OKAFOR))
    intake = str(ward.intake().pk)
    told = desk.send("place", intake=intake)
    words = told.content.decode()
    assert told.status_code == 422 and "It looks like another order" in words and reverse("order", args=[first.pk]) in words
    assert "Okafor" in words and Order.objects.count() == 1
    assert desk.send("place", intake=intake, told=str(first.pk)).status_code == 422  # the usual button confirms nothing
    assert desk.send("place-nevertheless", intake=intake, told=str(first.pk)).status_code == 302
    facts = Event.objects.filter(action="order.placed").latest("id").facts
    assert facts["nevertheless"] is True and list(facts["alike"]) == [str(first.pk)]


def test_what_nobody_was_told_of_is_asked_again(ward):
    desk = Desk(ward)
    ward.order(patient=patient(**OKAFOR))
    answer = desk.send("place-nevertheless", intake=str(ward.intake().pk), told="nonsense,,")
    assert answer.status_code == 422 and Order.objects.count() == 1


def test_stat_is_told_too_and_one_key_places_it(ward):
    desk = Desk(ward)
    ward.order(patient=patient(**OKAFOR))
    stat = {"priority": "stat", "stat_reason": "sepsis", "intake": str(ward.intake().pk)}
    assert 'id="nevertheless" autofocus' in desk.send("place", **stat).content.decode()
    assert "autofocus" not in desk.send("place", **{**stat, "priority": "urgent"}).content.decode()


def test_placing_the_same_input_again_is_the_same_order_and_no_duplicate(ward):
    desk, intake = Desk(ward), str(ward.intake().pk)
    answers = [desk.send("place", intake=intake) for _ in range(2)]
    assert {answer.status_code for answer in answers} == {302} and Order.objects.count() == 1


def test_a_stranger_of_the_order_it_looks_like_reads_nothing_of_it(ward):
    ward.order(patient=patient())
    second = ward.order(patient=patient())
    stranger = logged_in(Role.ANALYST, Ward().laboratory)
    assert stranger.get(reverse("order", args=[second.pk])).status_code == 404
