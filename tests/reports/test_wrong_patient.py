"""An order for the wrong patient: marked wherever it is seen, stopped, never deleted; and the right one gets another."""

import re
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job, Result
from foundation.errors import NotPermitted, Stale
from orders import checking
from orders.errors import InvalidOrder
from orders.models import Order
from reports import document, release, wrong_patient
from reports.models import ReportVersion
from reports.services import Door, show
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_actor, make_laboratory, make_order
from tests.reports import signers
from tests.reports.cases import analyst, drafted, scored_order

pytestmark = pytest.mark.django_db


def declared(order: Order, role: Role = Role.ACCESSIONER, **said: object) -> Order:
    actor = make_actor(role=role, organisation=order.performing_laboratory)
    given = {"order": order, "words": "tubes were swapped", "actor": actor, "expected_edits": order.edits, **said}
    wrong_patient.declare(**given)
    return Order.objects.get(pk=order.pk)


def test_work_that_waits_stops_and_the_order_is_kept_as_entered_in_error() -> None:
    order = declared(make_order())
    assert (order.state, order.cancelled_reason, Job.objects.get().state) == ("entered_in_error", "tubes were swapped", "cancelled")
    event = Event.objects.get(object_id=str(order.pk), action="state.entered_in_error")
    assert event.reason == "order.wrong-patient" and "tubes" not in str(event.facts)


def test_all_versions_of_its_report_are_entered_in_error_and_keep_their_content() -> None:
    order = scored_order()
    version = drafted(order)
    content = version.content
    declared(order)
    version.refresh_from_db()
    assert (version.state, version.content) == ("entered_in_error", content)
    assert Result.objects.filter(run__order_id=order.pk).exists()
    assert document.compose(version).banners[0] == "ENTERED IN ERROR: WRONG PATIENT, NOT VALID"
    assert release.Withheld.ENTERED_IN_ERROR in release.releasable(version).reasons


def test_the_laboratory_reads_what_there_was_and_nothing_new_is_drafted() -> None:
    with_draft, without = scored_order(), scored_order()
    drafted(with_draft)
    for order, door in ((with_draft, Door.OPEN), (without, Door.IN_ERROR)):
        declared(order)
        assert show(actor=analyst(order), order=Order.objects.get(pk=order.pk)).door is door
    assert ReportVersion.objects.count() == 1


def test_a_released_report_is_recalled_only_by_who_may_correct_reports() -> None:
    order = scored_order()
    signers.issued(order, signers.laboratory_of(order))
    order.refresh_from_db()
    with pytest.raises(NotPermitted):
        declared(order)
    assert not wrong_patient.may_declare(make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory), order)
    declared(order, Role.REVIEWER)
    assert set(ReportVersion.objects.values_list("state", flat=True)) == {"entered_in_error", "discarded"}


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.ANALYST, Role.SERVICE])
def test_others_mark_nothing(role: Role) -> None:
    with pytest.raises(NotPermitted):
        declared(make_order(), role)


def test_it_needs_words_and_the_order_as_it_was_seen_and_can_be_said_once() -> None:
    order = make_order()
    with pytest.raises(InvalidOrder):
        declared(order, words=" ")
    with pytest.raises(Stale):
        declared(order, expected_edits=9)
    with pytest.raises(wrong_patient.NotPossible):
        declared(declared(order))


def test_the_database_lets_nothing_come_out_of_an_order_in_error() -> None:
    order = declared(make_order())
    for state in ("accepted", "reported", "cancelled"):
        with pytest.raises(IntegrityError, match="cannot go"), transaction.atomic():
            Order.objects.filter(pk=order.pk).update(state=state)


def marked(client: Client, order: Order) -> str:
    data = {"words": "tubes were swapped", "confirmed": "yes", "edits": order.edits}
    return client.post(reverse("order-wrong-patient", args=[order.pk]), data, follow=True).content.decode()


def test_page_list_report_pdf_and_csv_say_so() -> None:
    ward = Ward()
    order, inside = ward.scored(), ward.analyst()
    drafted(order)
    page = marked(logged_in(Role.ACCESSIONER, ward.laboratory), order)
    assert 'id="in-error"' in page and "tubes were swapped" in page and "results-table" not in page
    assert "Entered in error" in read(inside, "worklist", chip="done")
    assert "ENTERED IN ERROR: WRONG PATIENT" in read(inside, "report-page", order.pk)
    csv = inside.get(reverse("order-results.csv", args=[order.pk]))
    assert "entered-in-error.csv" in csv["Content-Disposition"] and "wrong patient, not valid" in csv.content.decode()
    assert inside.get(reverse("report-pdf", args=[order.pk])).status_code == 200
    outside = read(ward.requester(), "report-page", order.pk)
    assert "entered in error" in outside and "ENTERED" not in outside


def test_without_a_confirmation_or_from_a_stale_page_nothing_is_marked() -> None:
    ward = Ward()
    order, client = ward.order(), logged_in(Role.ACCESSIONER, ward.laboratory)
    for said in ({"confirmed": ""}, {"edits": "0"}, {"words": ""}):
        data = {"words": "x", "confirmed": "yes", "edits": order.edits, **said}
        assert client.post(reverse("order-wrong-patient", args=[order.pk]), data).status_code == 409
    stranger = logged_in(Role.ACCESSIONER, make_laboratory())
    assert stranger.post(reverse("order-wrong-patient", args=[order.pk]), data).status_code == 404
    assert Order.objects.get(pk=order.pk).state == "accepted"


def test_the_right_patient_gets_a_new_order_on_the_same_file() -> None:
    desk = Desk(Ward())
    desk.check(pasted=vcf(200, 300))
    desk.send("place")
    order = Order.objects.get()
    marked(logged_in(Role.ACCESSIONER, desk.ward.laboratory), order)
    assert "Order for the right patient" in read(desk.client, "order", order.pk)
    address = desk.client.post(reverse("order-replace", args=[order.pk]))["Location"]
    intake = re.search(r"intake=([0-9a-f-]{36})", address).group(1)
    checking.check_intake(UUID(intake))
    page = desk.client.get(address).content.decode()
    assert "For the right patient" in page and "Okafor" not in page and "S-7" not in page
    edits = Order.objects.get().edits
    said = {
        "family_name": "Right",
        "mrn": "OTHER-1",
        "specimen_identifier": "S-8",
        "intake": intake,
        "replaces": str(order.pk),
        "edits": edits,
    }
    assert desk.send("place", **said).status_code == 302
    new = Order.objects.get(replaces=order)
    assert (new.patient.family_name, new.intake.file, new.state) == ("Right", order.intake.file, "accepted")
    assert Order.objects.get(pk=order.pk).state == "entered_in_error"
