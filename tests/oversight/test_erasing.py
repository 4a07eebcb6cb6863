"""What a deletion takes is what belongs to the record: every row and file of it, and nothing of anybody else; or nothing at all."""

import importlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from django.db import Error, connection, transaction

from accounts.roles import Role
from audit import keys
from audit.anchors import Writer
from audit.models import Event
from audit.sealing import Head, Sealer
from audit.verifying import Asked, verify
from casefile.models import Draft
from engine_queue.models import Run
from foundation import clock
from notices import services as notices
from notices.models import Delivery, Notice
from notices.services import Audience, Told
from orders.models import Intake, Order
from oversight import retention
from oversight.retention import On
from oversight.retention_models import HoldKind
from questions.models import Question
from reports import tracks
from reports.models import ReportVersion
from storage import services as storage
from tests.audit.chain import seal
from tests.factories import make_actor, make_laboratory, make_order, make_ready_intake, make_user
from tests.forging import forging
from tests.oversight import whole
from tests.oversight.aging import aged
from tests.oversight.whole import Rows
from tests.questions.people import Bench
from tests.reports import cases, signers

ERASABLE = set(importlib.import_module("oversight.migrations.0002_retention").ERASABLE)
NOT_OF_AN_ORDER = {"questions_question", "notices_notice", "notices_receipt", "notices_delivery"}
# Rows that may still name an order by its id when it is gone, and why.
NAME_IT = {
    "audit_event": "kept for ever",
    "audit_link": "the same",
    "audit_lastread": "who looked, kept with the events",
    "accounts_stepup": "a proof, kept for ever; it names what was signed by id",
    "outbox_message": "what was handed over; ids alone",
    "notices_notice": "a class of its own",
}
# Foreign keys to what is erased, from what is not: such a row keeps it.
KEEPERS = {
    ("orders_move", "check_of_id"): "blocked: identity-decision",
    ("orders_patientchange", "check_of_id"): "blocked: identity-decision",
    ("reports_background", "run_id"): "a run beside the orders, of no order",
    ("inspection_auditreport", "pack_id"): "a pack is kept for ever",
}
# Columns that name one of them without a foreign key.
LOOSE = {
    ("accounts_stepup", "object_id"), ("audit_event", "object_id"), ("audit_lastread", "object_id"), ("drift_request", "result_id"),
    ("interop_keptanswer", "object_id"), ("notices_notice", "order_id"), ("orders_move", "row"), ("orders_statlist", "orders"),
    ("oversight_legalhold", "order_id"),
}  # fmt: skip
_FOREIGN = """
    SELECT r.relname, a.attname, t.relname FROM pg_constraint k JOIN pg_class r ON r.oid = k.conrelid
    JOIN pg_class t ON t.oid = k.confrelid JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = ANY(k.conkey)
    WHERE k.contype = 'f'
"""
_INSIDE = (
    "SELECT proname FROM pg_proc WHERE proname LIKE 'retention\\_%' AND has_function_privilege('helicase_app', oid, 'EXECUTE')"
)
_PAST = "UPDATE orders_order SET state = 'cancelled', ended_at = '2001-01-01' WHERE id = '{}'"
_RULE = (
    "INSERT INTO oversight_retentionrule ({}organisation_id, record_class, days, words, set_by_id, set_at)"
    " VALUES ({}'{}', 'orders', {}, 'x', '{}', now())"
)
_TAKEN = "DELETE FROM {} "
_NAMED = """
    SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attname ~
    '^(row|orders|object_id|(.*_)?(order|run|job|result|item|item_set|intake|specimen|report_version|notice|draft|question|file)_id)$'
    AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f' AND a.attnum = ANY(k.conkey))
"""


def read(sql: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def refused(sql: str, *before: str) -> str:
    """What the database says to it; blank: it did it, which is undone."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in (*before, sql):
                cursor.execute(statement)
            transaction.set_rollback(True)
    except Error as error:
        return str(error)
    return ""


def erased(kind: str, pk: UUID) -> Rows:
    """The rows that went with a record, by the function itself; one event came, and nothing else changed."""
    before = whole.rows()
    assert retention.delete(kind, pk) and not retention.delete(kind, pk), "once"
    after = whole.rows()
    assert {table: sum(came.values()) for table, came in whole.less(after, before).items()} == {"audit_event": 1}
    event = Event.objects.latest("id")
    assert (event.action, event.object_id, event.facts["class"]) == ("retention.deleted", str(pk), kind)
    gone = whole.less(before, after)
    named = whole.keys(gone)
    left = {t: row for t, kept in after.items() if t not in NAME_IT for row in kept if any(one in row for one in named)}
    assert not left, "nothing that stays names what went"
    return gone


@pytest.fixture
def chain(clone_db: str, tmp_path: Path) -> Callable[[], str]:
    """A database with committed transactions; what a check of its audit chain says."""
    sealer, writer = Sealer.take_up(), Writer(tmp_path, keys.signing())
    writer.write(Head(), clock.now())

    def checked() -> str:
        writer.write(seal(sealer).head, clock.now())
        with connection.cursor() as cursor:
            return str(verify(cursor, tmp_path, Asked(), now=clock.now()).verdict)

    return checked


def test_an_order_goes_with_everything_on_it_and_its_twin_elsewhere_keeps_all(
    chain: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, twin = whole.over(whole.whole_order()), whole.over(whole.whole_order())
    mine, shared = _files(order) - _files(twin), _files(order) & _files(twin)
    assert len(mine) == 5 and shared
    before = whole.rows()
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:  # a later table that nobody has thought of
        owner.execute("CREATE TABLE later (of uuid REFERENCES orders_order DEFERRABLE INITIALLY DEFERRED)")
        owner.execute("INSERT INTO later VALUES (%s)", [order.pk])
        assert not retention.delete("orders", order.pk) and whole.less(before, whole.rows()) == {}, "all of it stays"
        owner.execute("DROP TABLE later")
    gone = erased("orders", order.pk)
    assert set(gone) == ERASABLE - NOT_OF_AN_ORDER, "everything was there, and went"
    assert not [row for rows in gone.values() for row in rows if str(twin.pk) in row or str(twin.performing_laboratory_id) in row]
    facts = Event.objects.latest("id").facts
    assert (facts["accession"], facts["runs"], len(facts["reports"])) == (order.accession, 3, 3) and set(facts["files"]) >= mine
    now = clock.now()
    with monkeypatch.context() as later:
        later.setattr(clock, "_source", lambda: now + timedelta(days=2))
        storage.sweep_orphans()
    there = {sha256 for sha256 in mine | shared | _files(twin) if storage.path_of(sha256).exists()}
    assert there == _files(twin), "bytes stay that another laboratory's record speaks of"
    assert chain() == "good"


def _files(order: Order) -> set[str]:
    versions = ReportVersion.objects.filter(order=order).exclude(document_sha256="").values_list("document_sha256", flat=True)
    attached = order.attachments.values_list("file__sha256", flat=True)
    rows = order.manifest_rows.values_list("manifest__file__sha256", flat=True)
    return {*versions, *attached, *rows, *Intake.objects.filter(order=order).values_list("file__sha256", flat=True)}


def test_a_deletion_sees_a_hold_that_is_being_placed_and_looks_through_no_older_snapshot(clone_db: str) -> None:
    order = aged(cases.scored_order(), state="cancelled")
    auditor = make_user(role=Role.AUDITOR, organisation=order.performing_laboratory)
    hold = "INSERT INTO oversight_legalhold (organisation_id, kind, about, words, lifted_words, placed_by_id, placed_at)"
    with psycopg.connect(clone_db) as other:
        other.execute(f"{hold} VALUES (%s, 'laboratory', 'l', 'w', '', %s, now())", [order.performing_laboratory_id, auditor.pk])
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '50ms'")
            assert not retention.delete("orders", order.pk), "it waits, and the next one goes on"
        other.rollback()
    with pytest.raises(Error, match="READ COMMITTED"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT retention_delete_order(%s)", [order.pk])
    assert retention.delete("orders", order.pk)


@pytest.mark.django_db
def test_a_draft_a_question_an_upload_and_a_notice_go_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    order = make_order()
    place, then = order.performing_laboratory_id, clock.now() - timedelta(days=800)
    owner = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    bench, upload = Bench(), make_ready_intake()

    def made(key: str) -> tuple[Draft, Question, Notice]:
        said = {"created_at": clock.now(), "saved_at": clock.now(), "expires_at": clock.now(), "ended_at": clock.now()}
        told = notices.tell(Told(key, "audit.trouble", place, [place], order.pk), Audience([owner.pk], [owner.pk]))
        with forging():
            draft = Draft.objects.create(organisation_id=place, owner=owner, state="discarded", **said)
        return draft, bench.asks("score", f">{key}\nACGTACGTAC"), told

    with monkeypatch.context() as past:
        past.setattr(clock, "_source", lambda: then)
        old = made("a")
    drafts, questions, told = zip(old, made("b"), strict=True)
    with forging():
        Question.objects.filter(pk=questions[0].pk).update(ended_at=then)
        Run.objects.filter(pk=questions[0].run_id).update(state="cancelled")
        Intake.objects.filter(pk=upload.pk).update(created_at=then, checked_at=then)
        Delivery.objects.filter(notice=told[0]).update(state="failed")
    assert set(erased("drafts", drafts[0].pk)) == {"casefile_draft"}
    work = {"engine_queue_run", "engine_queue_job", "engine_queue_itemset", "engine_queue_item"}
    assert set(erased("questions", questions[0].pk)) == {"questions_question", *work}
    of_input = {"orders_intake", "orders_intakerecord", "storage_storedfile", "engine_queue_item", "engine_queue_itemset"}
    assert set(erased("uploads", upload.pk)) == of_input
    assert set(erased("notices", told[0].pk)) == {"notices_notice", "notices_receipt", "notices_delivery"}
    others = (("drafts", drafts[1]), ("questions", questions[1]), ("uploads", order.intake), ("notices", told[1]))
    assert [kind for kind, one in others if retention.delete(kind, one.pk)] == [], "the others are not over"


@pytest.mark.django_db
def test_neither_a_session_nor_a_time_that_it_writes_makes_anything_due() -> None:
    """A draft that ended 25 days ago is kept for 30, in whatever zone a session counts; and a past end ends nothing in the past."""
    order, since = make_order(), clock.now() - timedelta(days=25)
    owner = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    with forging():
        draft = Draft.objects.create(
            organisation_id=order.ordering_organisation_id, owner=owner, state="discarded", created_at=since, saved_at=since,
            expires_at=since, ended_at=since,
        )  # fmt: skip
    summer, winter = (int((since + timedelta(days=days)).strftime("%j")) for days in (-12, 12))
    zone = f"SET LOCAL timezone = 'AAA-167BBB167,J{min(summer, 365)},J{min(winter, 365)}'"
    plain = "SELECT 1 / (%s::timestamptz + interval '30 days' <= now())::int"
    ask = f"SELECT 1 / retention_delete_draft('{draft.pk}')::int"
    assert not refused(plain.replace("%s", f"'{since.isoformat()}'"), zone), "such a zone takes two weeks from a period"
    for before in (zone, "SET LOCAL search_path = pg_catalog", "SET CONSTRAINTS ALL DEFERRED"):
        assert "division by zero" in refused(ask.replace("retention_", "public.retention_"), before), before
    assert "permission" in refused(ask, "SET LOCAL session_replication_role = 'replica'")
    scored = cases.scored_order()
    assert "division by zero" in refused(f"SELECT 1 / retention_delete_order('{scored.pk}')::int", _PAST.format(scored.pk))


@pytest.mark.django_db
def test_periods_and_holds_are_those_of_its_own_laboratory_and_no_rule_stands_before_its_turn() -> None:
    order, elsewhere = aged(cases.scored_order(), timedelta(days=800), state="cancelled"), make_laboratory()
    said = {"record_class": "orders", "days": 731, "words": "shorter"}
    retention.set_rule(actor=make_actor(role=Role.DIRECTOR, organisation=elsewhere), organisation_id=elsewhere.pk, **said)
    assert not retention.delete("orders", order.pk), "the rule of another laboratory"
    director = make_user(role=Role.DIRECTOR, organisation=order.performing_laboratory)

    def said_raw(days: object, *first: str) -> str:
        column, value = first or ("", "")
        return refused(_RULE.format(column, value, order.performing_laboratory_id, days, director.pk))

    assert "permission denied" in said_raw(731, "id, ", "9000000000, "), "one that no later rule would follow"
    assert all("floor" in said_raw(days) for days in (0, 730)) and "null" in said_raw("NULL")
    mine = make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)
    retention.set_rule(actor=mine, organisation_id=order.performing_laboratory_id, **said)
    auditor = make_actor(role=Role.AUDITOR, organisation=elsewhere)
    retention.place_hold(actor=auditor, organisation_id=elsewhere.pk, on=On(HoldKind.LABORATORY, "l"), words="theirs")
    assert retention.delete("orders", order.pk)


@pytest.mark.django_db
def test_a_track_that_is_being_computed_and_a_hold_on_a_patient_keep_what_belongs_to_them() -> None:
    order = signers.scored()
    lab = signers.laboratory_of(order)
    run = tracks.ask(actor=lab.actor(Role.REVIEWER), order=order, ordinal=0).run
    order, then = aged(order, state="cancelled"), clock.now() - timedelta(days=800)
    (found,) = [one for one in retention.candidates([order.performing_laboratory_id]) if one.id == order.pk]
    assert found.blocks == ("running",) and not retention.delete("orders", order.pk)
    with forging():
        Run.objects.filter(pk=run.pk).update(state="scored")
        draft = Draft.objects.create(
            organisation_id=order.performing_laboratory_id, owner=lab.user(Role.ANALYST), state="placed", order=order,
            created_at=then, saved_at=then, expires_at=then, ended_at=then,
        )  # fmt: skip
    auditor = lab.actor(Role.AUDITOR)
    on = On(HoldKind.PATIENT, "p", patient_id=order.patient_id)
    retention.place_hold(actor=auditor, organisation_id=order.performing_laboratory_id, on=on, words="a lawsuit")
    found = list(retention.candidates([order.performing_laboratory_id]))
    assert {one.id: one.blocks for one in found} == {order.pk: ("legal-hold",), draft.pk: ("legal-hold",)}
    assert not retention.delete("drafts", draft.pk) and not retention.delete("orders", order.pk)


@pytest.mark.django_db
def test_what_refers_to_something_erased_is_erased_with_it_or_known_to_keep_it() -> None:
    """A migration that adds such a table adds it to the function and to ERASABLE, or says here why not."""
    foreign = {(table, column) for table, column, of in read(_FOREIGN) if of in ERASABLE and table not in ERASABLE}
    assert foreign == set(KEEPERS)
    named = {(table, column) for table, column in read(_NAMED) if table not in ERASABLE - NOT_OF_AN_ORDER}
    assert named == LOOSE
    bodies = " ".join(body for (body,) in read("SELECT prosrc FROM pg_proc WHERE proname LIKE 'retention\\_%'"))
    assert [table for table in ERASABLE if _TAKEN.format(table) not in bodies] == []
    inside = {"begin", "end", "runs", "sets", "files", "intakes", "alone"}
    assert not {name.removeprefix("retention_") for (name,) in read(_INSIDE)} & inside
