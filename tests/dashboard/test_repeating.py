"""Repeat an order: a form filled in from it, on the same file checked again, linked to it, with a specimen of its own."""

import hashlib
import json
from dataclasses import asdict, replace

import pytest
from django.urls import reverse

from accounts.roles import Role
from casefile.models import Draft
from orders import checking, patients, services
from orders.errors import InvalidOrder
from orders.models import Intake, Order
from registry.models import TestVersion
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_actor, make_provider, make_request
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
LATER = {"repeats", "provider_id", "site_id", "performing_site_id", "late"}  # what requests did not say at first
OKAFOR = {"mrn": "88·1204", "family_name": "Okafor", "given_name": "Ngozi"}


@pytest.fixture
def desk():
    return Desk(Ward(time_zone="Europe/Berlin"))


@pytest.fixture
def order(desk):
    return desk.ward.order(patient=patient(**OKAFOR), priority="stat", stat_reason="sepsis", indication="fever")


def repeat(desk, order, **said):
    response = desk.client.post(reverse("order-repeat", args=[order.pk]), said)
    assert response.status_code == 302
    return Draft.objects.latest("created_at")


def test_patient_test_and_file_are_filled_in_and_the_specimen_is_not(desk, order):
    draft = repeat(desk, order)
    page = read(desk.client, "order-new", draft=draft.pk)
    assert "Repeats order <a" in page and order.accession in page and 'value="88·1204"' in page
    assert draft.typed["test"] == str(desk.ward.test.pk) and draft.intake.file_id == order.intake.file_id
    assert draft.intake_id != order.intake_id and draft.intake.state == "waiting"  # checked again
    assert not {"specimen_identifier", "collected_at", "stat_reason"} & set(draft.typed)


def test_who_asks_is_filled_in(desk):
    provider = make_provider(desk.ward.hospital, "Dr Rita Ordering", department="Ward 4", phone="+00 1")
    make_provider(desk.ward.hospital, "Dr Else", department="Ward 9")
    order = desk.ward.order(provider_id=provider.pk)
    assert repeat(desk, order).typed["provider"] == provider.label


def test_the_specimen_is_filled_in_when_it_is_the_same(desk, order):
    assert repeat(desk, order, specimen="same").typed["specimen_identifier"] == order.specimen.identifier


def test_the_placed_repeat_is_linked_both_ways_and_is_no_duplicate_of_what_it_repeats(desk, order):
    draft = repeat(desk, order)
    intake = desk.ward.intake()
    data = {**desk.typed, **OKAFOR, "repeats": str(order.pk), "intake": str(intake.pk), "do": "place", "draft": str(draft.pk)}
    data |= {"birth_date": "1970-01-31"}
    answer = desk.client.post(reverse("order-new"), data)
    assert answer.status_code == 302, answer.content.decode()
    later = Order.objects.get(intake=intake)
    assert later.repeats == order
    assert order.accession in read(desk.client, "order", later.pk) and later.accession in read(desk.client, "order", order.pk)


def test_a_repeat_of_another_patient_is_refused_at_the_number(desk, order):
    data = {**desk.typed, "mrn": "99", "repeats": str(order.pk), "intake": str(desk.ward.intake().pk), "do": "place"}
    answer = desk.client.post(reverse("order-new"), data)
    assert answer.status_code == 422 and "of another patient" in answer.content.decode()


def test_a_number_of_another_system_or_one_that_is_retired_is_another_patient(desk, order):
    clerk = make_actor(role=Role.ACCESSIONER, organisation=desk.ward.hospital)
    known = order.patient
    old = patients.add_identifier(patient=known, system="", value="OLD", type="MRN", actor=clerk)
    patients.retire_identifier(identifier=old, words="of somebody else", actor=clerk)
    patients.add_identifier(patient=known, system="citizens", value="61", type="National", actor=clerk)
    stated = patient(**OKAFOR)

    def repeated(**number):
        return desk.ward.order(repeats=order.pk, patient=replace(stated, **number))

    for number in ({"mrn_system": "citizens"}, {"mrn": "OLD"}, {"mrn": "61"}):
        with pytest.raises(InvalidOrder):
            repeated(**number)
    assert {repeated(**number).patient for number in ({}, {"mrn": "61", "mrn_system": "citizens"})} == {known}


def test_what_is_not_within_reach_is_repeated_by_nobody(desk, order):
    assert logged_in(Role.REQUESTER, Ward().hospital).post(reverse("order-repeat", args=[order.pk])).status_code == 404
    other = Ward().order()
    data = {**desk.typed, "repeats": str(other.pk), "intake": str(desk.ward.intake().pk), "do": "place"}
    answer = desk.client.post(reverse("order-new"), data)
    assert (
        answer.status_code == 422
        and "does not exist here" in answer.content.decode()
        and other.accession not in answer.content.decode()
    )


def test_a_test_that_is_not_offered_any_more_is_said(desk, order):
    TestVersion.objects.filter(pk=desk.ward.test.pk).update(offered=False)
    answer = desk.client.post(reverse("order-repeat", args=[order.pk]), follow=True)
    assert "does not offer this test any more" in answer.content.decode() and not Draft.objects.exists()


def test_the_laboratory_repeats_only_what_it_may_order(desk, order):
    analyst = desk.ward.analyst()
    assert "Repeat this order" not in read(analyst, "order", order.pk)
    assert "Your role does not allow this" in analyst.post(reverse("order-repeat", args=[order.pk]), follow=True).content.decode()


def test_the_file_of_a_repeat_is_checked_like_any_other(desk):
    desk.check(pasted=vcf(300, 301))
    desk.send("place")
    first = Order.objects.get()
    checking.check_intake(repeat(desk, first).intake_id)
    assert Intake.objects.latest("created_at").counts == first.intake.counts


def test_an_order_that_repeats_nothing_has_the_hash_it_had_before_there_were_repeats(desk):
    intake = desk.ward.intake()
    request = make_request(intake)
    said = {key: value for key, value in asdict(request).items() if key not in LATER} | {
        "intake_id": None, "file": intake.file.sha256, "sample": intake.sample, "test": str(intake.test_version_id),
    }  # fmt: skip
    del said["patient"]["others"]  # came later as well
    assert (
        services.content_hash(request, intake) == hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
    )
