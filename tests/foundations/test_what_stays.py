"""What the database does not let the application do to times, reasons, people and messages, and what it does. As helicase_app."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import Error, connection, transaction

from accounts.models import User
from accounts.roles import Role
from audit import reads
from engine_queue.models import Run
from engine_queue.outcomes import Fact
from foundation import clock
from orders import progress, services, urgency
from orders.manifests import services as manifests
from orders.models import ManifestRow, Order
from outbox import services as outbox
from outbox.models import Message
from registry.priority import Priority
from tests import factories

pytestmark = pytest.mark.django_db

LATER = "clock_timestamp() + interval '1 hour'"
ACCEPTED = {
    "the time of its acceptance": f"accepted_at = {LATER}",
    "no time of its acceptance": "accepted_at = NULL",
    "a start without a move": f"started_at = {LATER}",
    "scores without a move": f"scored_at = {LATER}",
    "an end without a move": f"ended_at = {LATER}",
    "when results are due": f"result_due = {LATER}",
    "when the report is due": "report_due = report_due + interval '1 day'",
    "the promise": "promise = promise + 1",
    "since when it counts": f"promised_at = {LATER}",
    "by which calendar": "clock_zone = 'Asia/Kolkata'",
    "a clock that stands without a hold": f"clock_stopped_at = {LATER}",
    "a hold whose clock runs": "hold_reason = 'hold.input'",
    "an agreement to no hold": "hold_agreed = true",
    "why it was cancelled": "cancelled_reason = 'other'",
    "why its priority is what it is": "priority_reason = 'other'",
    "why it is STAT": "stat_reason = 'other'",
    "another priority under the same promise": "priority = 'asap', rank = 1",
    "a promotion that is due later": "priority = 'asap', rank = 1, promise = 2, result_due = result_due + interval '1 minute'",
    "the order it repeats": "repeats_id = id",
    "fewer results": "items_done = items_done - 1",
    "a version of before": "version = version - 1",
}
HELD = {
    "why it waits": "hold_reason = 'hold.specimen'",
    "since when it waits": f"clock_stopped_at = {LATER}",
    "going on while the clock stands": "hold_reason = ''",
    "a release that is due sooner": "hold_reason = '', clock_stopped_at = NULL, result_due = result_due - interval '1 minute'",
}
CLOSED = {
    "when it ended": f"ended_at = {LATER}",
    "no end": "ended_at = NULL",
    "why": "cancelled_reason = 'other'",
    "its priority": "priority = 'asap', rank = 1, promise = promise + 1",
    "a hold": f"hold_reason = 'hold.input', clock_stopped_at = {LATER}",
}


def _refused(sql: str) -> str:
    """What the database says to it; blank: it did it, which is undone."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            transaction.set_rollback(True)
    except Error as error:
        return str(error)
    return ""


def _allowed(changes: dict[str, str], order: Order) -> list[str]:
    sql = "UPDATE orders_order SET {} WHERE id = '{}'"
    return [what for what, change in changes.items() if not _refused(sql.format(change, order.pk))]


@pytest.fixture
def order() -> Order:
    made = factories.make_order(variants=3, priority="urgent")
    Order.objects.filter(pk=made.pk).update(items_done=1)
    return Order.objects.get(pk=made.pk)


def _director(order: Order):
    return factories.make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)


def test_times_promises_and_reasons_of_an_order_change_by_no_statement_of_their_own(order: Order) -> None:
    actor = _director(order)
    assert _allowed(ACCEPTED, order) == []
    urgency.hold(order=order, reason="hold.input", actor=actor)
    assert _allowed(HELD, order) == []
    urgency.release(order=order, actor=actor)
    services.cancel(actor=actor, order=order, reason="asked twice", expected_edits=Order.objects.get(pk=order.pk).edits)
    assert _allowed(CLOSED, order) == []


def test_an_order_is_not_born_with_a_past(order: Order) -> None:
    assert "begins without a time" in _refused(
        "INSERT INTO orders_order SELECT (jsonb_populate_record(o, jsonb_build_object("
        "'id', gen_random_uuid(), 'state', 'submitted', 'accession', 'A00-000001'))).* FROM orders_order o"
    )


def test_an_order_goes_its_whole_way_by_the_services(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held before and after promotion and demotion, released, started, scored: each moment is set, and each due time follows."""
    director, now = _director(order), clock.now()
    monkeypatch.setattr(clock, "_source", lambda: now + timedelta(minutes=5))
    urgency.change_priority(order=order, priority="asap", reason="he worsens", actor=director)
    urgency.hold(order=order, reason="hold.input", actor=director)
    monkeypatch.setattr(clock, "_source", lambda: now + timedelta(minutes=9))
    urgency.change_priority(order=order, priority="routine", reason="he is well", actor=director)
    urgency.release(order=order, actor=director)
    run = Run.objects.get(order_id=order.pk)
    for kind in ("started", "scored"):
        progress.apply(Fact(kind=kind, run=run, worker="test"))
    order.refresh_from_db()
    assert (order.state, order.priority, order.promise) == ("awaiting_review", Priority.ROUTINE, 3)
    assert order.started_at and order.scored_at and order.clock_stopped_at is None
    assert _allowed({"when it was scored": f"scored_at = {LATER}", "when it began": "started_at = NULL"}, order) == []


PEOPLE = {
    "a person": "DELETE FROM accounts_user",
    "a person's name": "UPDATE accounts_user SET name = 'other'",
    "a person's address": "UPDATE accounts_user SET email = 'other@example.org'",
    "a person's id": "UPDATE accounts_user SET id = gen_random_uuid()",
    "an organisation": "DELETE FROM accounts_organisation",
    "an organisation's name": "UPDATE accounts_organisation SET name = 'other'",
    "an organisation's zone": "UPDATE accounts_organisation SET time_zone = 'Asia/Kolkata'",
    "an organisation's id": "UPDATE accounts_organisation SET id = gen_random_uuid()",
    "all people": "TRUNCATE accounts_user CASCADE",
    "a look": "DELETE FROM audit_lastread",
    "a look of earlier": "UPDATE audit_lastread SET at = at - interval '1 hour'",
    "whose look it was": "UPDATE audit_lastread SET actor_id = gen_random_uuid()",
    "a message": "DELETE FROM outbox_message",
    "what a message says": "UPDATE outbox_message SET payload = '{}'",
    "that it went": "UPDATE outbox_message SET sent_at = NULL WHERE sent_at IS NOT NULL",
    "a row of a manifest": "DELETE FROM orders_manifestrow",
    "what was said of it": "UPDATE orders_manifestrow SET objections = '[]'",
    "what became of it": "UPDATE orders_manifestrow SET state = 'valid'",
    "a manifest": "DELETE FROM orders_manifest",
    "a number that was given": "UPDATE orders_accessioncounter SET last = last - 1",
}


def test_people_looks_messages_and_settled_rows_stay(order: Order) -> None:
    user = factories.make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    actor = factories.make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    reads.seen(actor=actor, action="order.read", obj=order, organisation_id=order.performing_laboratory_id)
    message = outbox.post(topic="nobody", payload={}, organisation_id=uuid4())
    Message.objects.filter(pk=message.pk).update(sent_at=clock.now(), tries=1)
    sent = manifests.send(actor=actor, organisation_id=order.ordering_organisation_id, chunks=[b"x"], filename="x.csv")
    row = ManifestRow.objects.create(organisation_id=sent.ordering_organisation_id, manifest=sent, number=2, cells={}, rank=3)
    row.state, row.objections, row.settled_at = "invalid", [{"words": "no test"}], clock.now()
    row.save(update_fields=["state", "objections", "settled_at"])
    assert [what for what, sql in PEOPLE.items() if not _refused(sql)] == []
    # a new password, a last login, the end of an account, and a lock on the organisation are the application's
    user.set_password("Another-1")
    user.save(update_fields=["password"])
    User.objects.filter(pk=user.pk).update(last_login=clock.now(), is_active=False)
    type(order.ordering_organisation).objects.select_for_update().get(pk=order.ordering_organisation_id)


# Tables of which the application may delete rows, and why nothing is lost by it. Everything else stays.
WORK = {
    "auth_group": "Django's, empty",
    "auth_group_permissions": "Django's, empty",
    "auth_permission": "Django's, of no use here",
    "django_content_type": "Django's, of no use here",
    "django_session": "logins that have ended",
    "dashboard_openingfilter": "what a person sets for himself",
    "dashboard_shortnames": "the same",
    "dashboard_savedfilter": "what people name for themselves, with an event",
    "drift_hist": "counted anew, from rows that it may not delete",
    "interop_keptanswer": "answers of a day ago",
    "engine_queue_worker": "who works at this moment",
    "engine_queue_item": "of a set that is not frozen: an upload being checked",
    "engine_queue_itemset": "not frozen",
    "orders_intake": "nothing was ordered on it",
    "orders_intakecheckpoint": "of a check that has ended",
    "orders_intakerecord": "nothing was ordered on it",
}


def test_the_application_deletes_only_what_is_work_in_progress() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT privilege_type, table_name FROM information_schema.role_table_grants"
            " WHERE grantee = 'helicase_app' AND table_schema = 'public' AND privilege_type IN ('DELETE', 'TRUNCATE')"
        )
        assert set(cursor.fetchall()) == {("DELETE", table) for table in WORK}
