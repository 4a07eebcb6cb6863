"""Somebody was told of a delay: kept once and for good, with an event; and holds of before this version are taken from events."""

import importlib
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.roles import Role
from audit import services as audit
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted, Refused
from orders import delays
from orders.errors import InvalidOrder
from orders.models import DelayNotice, Hold, Order
from tests.factories import make_actor, make_laboratory, make_order, make_organisation, make_ready_intake
from tests.forging import forge, forging
from tests.services import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture
def late(monkeypatch) -> Order:
    now = clock.now()
    with monkeypatch.context() as before:
        before.setattr(clock, "_source", lambda: now - timedelta(hours=1))
        order = make_order(intake=make_ready_intake(organisation=make_organisation(), variants=1), variants=1)
    forge(order, result_due=now - timedelta(minutes=3))
    return Order.objects.get(pk=order.pk)


def tell(order: Order, role: Role = Role.ACCESSIONER, organisation=None, **said) -> DelayNotice:
    actor = make_actor(role=role, organisation=organisation or order.performing_laboratory)
    values = {"told": "Dr Ordering, ward 3", "means": "phone", "words": "", "told_at": clock.now() - timedelta(minutes=1), **said}
    return delays.tell(order=order, actor=actor, **values)


def test_whom_when_how_and_by_whom_is_kept_with_an_event_that_names_no_words(late):
    made = tell(late, words="she will wait")
    assert delays.told_of(late) == [made] and delays.last_told([late]) == {late.pk: made.told_at}
    event = Event.objects.get(action="order.delay_told")
    assert event.facts == {"notice": made.pk, "means": "phone", "told_at": made.told_at.isoformat()}
    assert (event.actor_name, Order.objects.get().edits) == (made.by.name, late.edits)


@pytest.mark.parametrize(
    ("said", "field"),
    [({"told": " "}, "told"), ({"told": "x" * 121}, "told"), ({"means": "pigeon"}, "means"), ({"told_at": None}, "told_at"),
     ({"words": "x" * 301}, "words")],
)  # fmt: skip
def test_what_is_missing_or_makes_no_sense_is_said_at_its_field(late, said, field):
    with pytest.raises(InvalidOrder) as error:
        tell(late, **said)
    assert set(error.value.fields) == {field} and not DelayNotice.objects.exists()


def test_nobody_was_told_in_the_future_or_before_the_order_was_placed(late):
    for moment in (clock.now() + timedelta(minutes=1), late.placed_at - timedelta(minutes=2)):
        with pytest.raises(InvalidOrder):
            tell(late, told_at=moment)


def test_the_laboratory_tells_and_nobody_else_records_it(late):
    for role, place in ((Role.DIRECTOR, make_laboratory()), (Role.REQUESTER, late.ordering_organisation), (Role.OPERATOR, None)):
        with pytest.raises(NotPermitted):
            tell(late, role, place)


def test_a_record_cannot_be_altered_and_a_closed_order_gets_none(late):
    tell(late)
    for change in (lambda: DelayNotice.objects.update(told="x"), lambda: DelayNotice.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    Order.objects.filter(pk=late.pk).update(state="cancelled", ended_at=clock.now())
    with pytest.raises(Refused):
        tell(late)


def test_what_is_scored_is_late_by_its_report_and_what_is_closed_never(late):
    assert delays.is_late(late)
    late.scored_at = clock.now()
    assert not delays.is_late(late)
    late.report_due = clock.now() - timedelta(minutes=1)
    assert delays.is_late(late)
    late.ended_at = clock.now()
    assert not delays.is_late(late)


def _migration():
    found = next((ROOT / "platform" / "orders" / "migrations").glob("*_clocks.py"))
    return importlib.import_module(f"orders.migrations.{found.stem}")


def test_holds_and_promises_of_before_are_taken_from_the_events():
    orders = [make_order(variants=1) for _ in range(3)]
    actor = make_actor(role=Role.DIRECTOR, organisation=make_laboratory())
    told = [(0, "order.held"), (0, "order.released"), (0, "order.held"), (1, "order.held"), (1, "state.cancelled")]
    told.append((2, "order.promoted"))
    events = []
    for number, action in told:
        order = orders[number]
        events.append(
            audit.record(actor=actor, action=action, obj=order, organisation_id=order.performing_laboratory_id, reason="hold.input")
        )
    forge(orders[0], hold_reason="hold.input")
    for order in orders:
        forge(order, promised_at=None, clock_zone="", escalate_at=None)
    with forging(), connection.cursor() as cursor:
        cursor.execute(_migration().BACKFILL)
    at = [event.at for event in events]
    found = list(Hold.objects.order_by("since").values_list("order_id", "since", "until"))
    assert found == [(orders[0].pk, at[0], at[1]), (orders[0].pk, at[2], None), (orders[1].pk, at[3], at[4])]
    first, second, third = (Order.objects.get(pk=order.pk) for order in orders)
    assert (first.clock_stopped_at, second.clock_stopped_at) == (at[2], None)
    assert (third.promised_at, second.promised_at) == (at[5], second.accepted_at)
    assert all(order.escalate_at and order.clock_zone == "UTC" for order in (first, second, third))
