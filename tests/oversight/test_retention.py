"""Retention: what is over goes, whole, with its event; what something blocks stays; and nobody deletes round the rules."""

from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import Error, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Item, ItemSet, Job, Result, Run
from foundation import clock
from foundation.errors import NotPermitted, Refused
from notices.models import Notice
from notices.services import Audience, Told, tell
from orders.models import IdentityCheck, Intake, Order, Specimen
from oversight import retention
from oversight.models import LegalHold
from oversight.record_classes import CLASSES
from oversight.retention import On
from oversight.retention_models import HoldKind
from reports.delivery_models import Critical
from reports.models import Interpretation, ReportVersion, Review, Signature
from storage import services as storage
from storage.models import StoredFile
from tests.factories import make_actor, make_laboratory, make_ready_intake, make_user
from tests.forging import forging
from tests.oversight.aging import aged
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db


@pytest.fixture
def issued() -> SimpleNamespace:
    """A signed report of an order, and a director who may place holds there."""
    order = signers.scored(signers=2)
    lab = signers.laboratory_of(order)
    signers.interpret(order, lab)
    version = signers.issued(order, lab)
    return SimpleNamespace(order=order, lab=lab, version=version, place=order.performing_laboratory_id)


def test_an_order_goes_whole_with_its_signed_report_and_leaves_one_event(issued: SimpleNamespace) -> None:
    other = aged(cases.scored_order(), timedelta(days=1))
    order, sha256 = aged(issued.order), issued.version.document_sha256
    kept = {model: model.objects.exclude(**{where: order.pk}).count() for model, where in ((Order, "pk"), (Run, "order_id"))}
    assert retention.run()["orders"] == 1 and retention.run()["orders"] == 0, "a second run finds nothing to do"
    assert not Order.objects.filter(pk=order.pk).exists() and not Specimen.objects.filter(pk=order.specimen_id).exists()
    for model in (ReportVersion, Review, Interpretation):
        assert not model.objects.filter(order_id=order.pk).exists(), model
    assert not Signature.objects.filter(report_version=issued.version.pk).exists()
    assert not Run.objects.filter(order_id=order.pk).exists() and not Intake.objects.filter(pk=order.intake_id).exists()
    for model in (Job, Result):
        assert set(model.objects.values_list("run__order_id", flat=True)) == {other.pk}, model
    assert Item.objects.count() and set(ItemSet.objects.values_list("pk", flat=True)) == {other.intake.item_set_id}
    assert not StoredFile.objects.filter(sha256__in=[sha256]).exists()
    assert {model: model.objects.count() for model in (Order, Run)} == kept, "another laboratory's stay"
    (event,) = Event.objects.filter(action="retention.deleted")
    assert (event.object_type, event.object_id, event.organisation_id) == ("orders.order", str(order.pk), issued.place)
    assert event.facts["reports"][-1][1:] == [issued.version.content_sha256, sha256] and sha256 in event.facts["files"]
    assert order.patient.family_name not in str(event.facts) and order.stated_mrn not in str(event.facts)


def test_bytes_that_no_row_speaks_of_any_more_leave_the_store(issued: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    path = storage.path_of(issued.version.document_sha256)
    assert path.exists()
    aged(issued.order)
    retention.run()
    now = clock.now()
    monkeypatch.setattr(clock, "_source", lambda: now + timedelta(days=2))
    storage.sweep_orphans()
    assert not path.exists()


def held(issued: SimpleNamespace, on: On) -> LegalHold:
    return retention.place_hold(actor=issued.lab.actor(Role.AUDITOR), organisation_id=issued.place, on=on, words="a lawsuit")


@pytest.mark.parametrize("kind", list(HoldKind))
def test_a_legal_hold_keeps_it_until_another_person_lifts_it(issued: SimpleNamespace, kind: HoldKind) -> None:
    order = aged(issued.order)
    day = timedelta(days=1)
    ons = {
        HoldKind.ORDER: On(kind, "o", order_id=order.pk),
        HoldKind.PATIENT: On(kind, "p", patient_id=order.patient_id),
        HoldKind.PERIOD: On(kind, "d", first_at=order.placed_at - day, until_at=order.placed_at + day),
        HoldKind.LABORATORY: On(kind, "l"),
    }
    hold = held(issued, ons[kind])
    (found,) = [one for one in retention.candidates([issued.place]) if one.record_class.code == "orders"]
    assert found.blocks == ("legal-hold",) and retention.run()["orders"] == 0
    assert not retention.delete("orders", order.pk), "the database looks itself"
    with pytest.raises(Refused):
        retention.lift_hold(actor=issued.lab.actor(Role.AUDITOR), pk=hold.pk, words="over")
    retention.lift_hold(actor=issued.lab.actor(Role.DIRECTOR), pk=hold.pk, words="settled")
    assert retention.run()["orders"] == 1


FLAGS = {
    "attention": {"attention": "job.worker-died"},
    "on-hold": {"hold_reason": "hold.input"},
    "open": {"state": "awaiting_review"},
}


@pytest.mark.parametrize("flag", [*FLAGS, "identity", "signatures", "delivery", "critical", "linked"])
def test_what_is_open_about_an_order_blocks_it(issued: SimpleNamespace, flag: str) -> None:
    order, other = issued.order, cases.scored_order()
    if flag == "signatures":
        signers.corrected(order, issued.lab)
    if flag == "delivery":
        people = [issued.lab.user(Role.DIRECTOR).pk]
        tell(Told("k", "audit.trouble", issued.place, [issued.place], order.pk, order.accession), Audience(email=people))
    order = aged(order)
    with forging():
        Order.objects.filter(pk=order.pk).update(**FLAGS.get(flag, {}))
        if flag == "identity":
            IdentityCheck.objects.create(
                ordering_organisation_id=order.ordering_organisation_id, performing_laboratory_id=issued.place, order=order,
                known=order.patient, opened_at=clock.now(),
            )  # fmt: skip
        if flag == "critical":
            Critical.objects.create(
                organisation_id=issued.place, order=order, reason="called", marked_at=clock.now(),
                marked_by=issued.lab.user(Role.DIRECTOR),
            )  # fmt: skip
        if flag == "linked":
            Order.objects.filter(pk=other.pk).update(repeats=order.pk)
    (found,) = [one for one in retention.candidates([issued.place]) if one.id == order.pk]
    assert flag in found.blocks and retention.run()["orders"] == 0 and not retention.delete("orders", order.pk)


def test_a_period_is_set_with_a_reason_and_never_below_its_floor(issued: SimpleNamespace) -> None:
    director, auditor = issued.lab.actor(Role.DIRECTOR), issued.lab.actor(Role.AUDITOR)
    said = {"organisation_id": issued.place, "record_class": "orders", "words": "CAP says so"}
    with pytest.raises(Refused, match="731 days at least"):
        retention.set_rule(actor=director, days=730, **said)
    with pytest.raises(NotPermitted):
        retention.set_rule(actor=auditor, days=7300, **said)
    aged(issued.order)
    retention.set_rule(actor=director, days=7300, **said)
    assert retention.days_of(issued.place)["orders"] == 7300 and retention.run()["orders"] == 0
    retention.set_rule(actor=director, days=731, **said)
    assert retention.days_of(make_laboratory().pk)["orders"] == 3653, "another laboratory's stands"
    assert retention.run()["orders"] == 1


def test_the_defaults_and_floors_are_those_of_the_database() -> None:
    assert retention.days_of(uuid4()) == {one.code: one.days for one in CLASSES}
    somebody = make_actor(role="director", organisation=make_laboratory()).id
    for one in CLASSES:
        below = RULE.format(uuid4(), one.code, one.floor - 1, somebody)
        assert "not_below_its_floor" in _refused(below) and not _refused(RULE.format(uuid4(), one.code, one.floor, somebody))


RULE = (
    "INSERT INTO oversight_retentionrule (organisation_id, record_class, days, words, set_by_id, set_at)"
    " VALUES ('{}', '{}', {}, 'x', '{}', now())"
)
ROUND_IT = [
    "DELETE FROM orders_order", "DELETE FROM reports_signature", "DELETE FROM reports_reportversion", "DELETE FROM audit_event",
    "DELETE FROM oversight_legalhold", "UPDATE oversight_legalhold SET words = 'x'", "DELETE FROM oversight_retentionrule",
    "INSERT INTO oversight_erasure VALUES (pg_current_xact_id()::text::bigint)", "SELECT retention_begin()",
    "SELECT retention_runs('{}')", "SELECT retention_files('{}')", "SELECT retention_end('', '', gen_random_uuid(), '{}')",
]  # fmt: skip


def _refused(sql: str) -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
    except Error as error:
        return str(error)
    return ""


def test_the_application_has_no_other_way_to_delete_and_marks_nothing_itself(issued: SimpleNamespace) -> None:
    held(issued, On(HoldKind.LABORATORY, "l"))
    assert [sql for sql in ROUND_IT if not _refused(sql)] == []
    assert not retention.delete("orders", issued.order.pk), "it is not over"


def test_uploads_and_notices_go_when_theirs_is_over(issued: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    upload, then = make_ready_intake(), clock.now() - timedelta(days=800)
    assert not any(retention.run().values()), "not yet"
    with monkeypatch.context() as past:
        past.setattr(clock, "_source", lambda: then)
        told = Told("k", "audit.trouble", issued.place, [issued.place])
        notice = tell(told, Audience(in_app=[issued.lab.user(Role.DIRECTOR).pk]))
    with forging():
        Intake.objects.all().update(created_at=then, checked_at=then)
    assert retention.run() == {"orders": 0, "uploads": 1, "drafts": 0, "notices": 1, "questions": 0}
    assert not Intake.objects.filter(pk=upload.pk).exists() and Intake.objects.filter(pk=issued.order.intake_id).exists()
    assert not Notice.objects.filter(pk=notice.pk).exists()


def test_the_command_says_what_would_go_and_deletes_nothing(issued: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    aged(issued.order)
    call_command("retention", "--dry-run")
    assert f"{issued.order.pk}" in capsys.readouterr().out and Order.objects.filter(pk=issued.order.pk).exists()
    call_command("retention")
    assert "orders: 1 deleted" in capsys.readouterr().out


def test_the_page_sets_periods_places_and_lifts_holds_and_says_what_goes_next(issued: SimpleNamespace) -> None:
    director, auditor = (Client() for _ in range(2))
    director.force_login(issued.lab.user(Role.DIRECTOR))
    auditor.force_login(issued.lab.user(Role.AUDITOR))
    order, address = aged(issued.order), reverse("retention")
    said = {"do": "rule", "class": "orders", "days": "3650", "words": "ten years"}
    assert (
        auditor.post(address, said).status_code == 409
        and "731 days at least" in director.post(address, said | {"days": "1"}).content.decode()
    )
    assert director.post(address, said).status_code == 302 and "3,650" in director.get(address).content.decode()
    hold = {"do": "hold", "kind": "patient", "order": order.accession, "words": "a lawsuit"}
    assert auditor.post(address, hold | {"order": "A00-1"}).status_code == 409
    assert auditor.post(address, hold).status_code == 302
    page, row = auditor.get(address).content.decode(), auditor.get(reverse("retention.csv")).content.decode()
    assert "a legal hold stands" in page and f"{order.pk},{order.accession}" in row and "a legal hold stands" in row
    lift = {"do": "lift", "hold": LegalHold.objects.get().pk, "words": "settled"}
    assert auditor.post(address, lift).status_code == 409 and director.post(address, lift).status_code == 302
    assert director.post(address, lift).status_code == 409, "once"
    stranger = Client()
    stranger.force_login(make_user(role=Role.DIRECTOR, organisation=make_laboratory()))
    assert order.accession not in stranger.get(address).content.decode() and stranger.post(address, lift).status_code == 404
