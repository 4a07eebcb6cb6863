"""Receiving a specimen: once, at a time that can be, in a coded condition, by the laboratory that performs the test."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted
from orders import arrivals, reception, rejection
from orders.errors import InvalidOrder
from orders.models import Order, Specimen
from orders.reception import Arrival, Came
from tests.factories import make_actor, make_laboratory, make_order, make_organisation, make_ready_intake

pytestmark = pytest.mark.django_db


def accessioner(order: Order) -> Any:
    return make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory)


def receive(order: Order, *, ago: timedelta = timedelta(0), **changes: Any) -> Specimen:
    arrival = Arrival(**{"received_at": clock.now() - ago, "condition": "acceptable", **changes})
    return reception.receive(order=order, arrival=arrival, actor=accessioner(order))


def test_a_received_specimen_says_when_by_whom_and_in_which_condition() -> None:
    order = make_order()
    specimen = receive(order, condition="other", words="in a glove")
    specimen.refresh_from_db()
    assert (specimen.state, specimen.condition_said, specimen.received_by is None) == ("received", "in a glove", False)
    event = Event.objects.get(object_id=str(order.pk), action="order.specimen_received")
    assert (event.organisation_id, event.facts) == (
        order.performing_laboratory_id,
        {"specimen": str(specimen.pk), "condition": "other", "late": False},
    )


def test_a_specimen_is_received_once_and_the_second_is_told_who_was_first() -> None:
    order = make_order()
    first = receive(order)
    with pytest.raises(Came, match="received before by Person"):
        receive(order, condition="leaked")
    first.refresh_from_db()
    assert first.condition == "acceptable"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"ago": timedelta(hours=3)}, "received_at", "before it was collected"),
        ({"ago": timedelta(seconds=-90)}, "received_at", "in the future"),
        ({"ago": timedelta(minutes=16)}, "late_reason", "later than it happened"),
        ({"condition": ""}, "condition", "Choose the condition"),
        ({"condition": "other"}, "words", "Say in which condition"),
        ({"words": "x" * 301}, "words", "at most 300"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(changes: dict[str, Any], field: str, words: str) -> None:
    order = make_order()
    with pytest.raises(InvalidOrder) as refused:
        receive(order, **{"late_reason": "" if field == "late_reason" else "the network was down", **changes})
    assert list(refused.value.fields) == [field] and words in refused.value.fields[field][0]
    assert Specimen.objects.get(pk=order.specimen_id).state == "expected"


def test_a_late_entry_keeps_the_true_time_and_the_reason() -> None:
    specimen = receive(make_order(), ago=timedelta(hours=1), late_reason="the network was down")
    assert specimen.late_reason == "the network was down" and clock.now() - specimen.received_at > timedelta(minutes=59)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ACCESSIONER])
def test_nobody_but_an_accessioner_of_the_performing_laboratory_receives(role: Role) -> None:
    order = make_order(intake=make_ready_intake(organisation=make_organisation()))
    arrival = Arrival(received_at=clock.now(), condition="acceptable")
    for organisation in (order.performing_laboratory, order.ordering_organisation, make_laboratory()):
        who = role if organisation == order.performing_laboratory else Role.ACCESSIONER
        with pytest.raises(NotPermitted):
            reception.receive(order=order, arrival=arrival, actor=make_actor(role=who, organisation=organisation))


@pytest.mark.parametrize(
    "columns",
    [
        {"state": "received"},
        {"state": "expected", "received_at": "now"},
        {"state": "rejected", "rejected_at": "now"},
        {"state": "received", "received_at": "long ago"},
        {"condition": "fine"},
    ],
)
def test_the_database_refuses_what_the_service_would(columns: dict[str, Any]) -> None:
    specimen = make_order().specimen
    moments = {"now": clock.now(), "long ago": specimen.collected_at - timedelta(days=1)}
    values = {name: moments.get(value, value) for name, value in columns.items()}
    with pytest.raises(DatabaseError), transaction.atomic():
        Specimen.objects.filter(pk=specimen.pk).update(**values)


@pytest.mark.parametrize("columns", [{"state": "expected", "received_at": None}, {"condition": "leaked"}, {"late_reason": "no"}])
def test_the_database_keeps_what_was_received(columns: dict[str, Any]) -> None:
    specimen = receive(make_order())
    with pytest.raises(DatabaseError), transaction.atomic():
        Specimen.objects.filter(pk=specimen.pk).update(**columns)


def test_the_lists_of_the_reception_have_stat_first_and_hold_only_what_is_performed_there() -> None:
    routine = make_order()
    laboratory = routine.performing_laboratory
    test = routine.test_version
    stat, came = (make_order(intake=make_ready_intake(test_version=test), priority=one) for one in ("stat", "routine"))
    elsewhere = make_order(intake=make_ready_intake(organisation=laboratory))  # ordered here, performed by others
    receive(came)
    here = make_actor(role=Role.ACCESSIONER, organisation=laboratory)
    expected, received = arrivals.expected(here), arrivals.received(here)
    assert (expected.rows, expected.count, received.rows) == ([stat, routine], 2, [came])
    for gone in (came, routine):  # one that came, and one that never did
        rejection.reject(order=gone, reason="specimen.leaked", words="", actor=here)
    received = arrivals.received(here)
    assert (received.rows, received.count, arrivals.expected(here).rows) == ([routine, came], 2, [stat])
    assert elsewhere.pk not in {order.pk for order in (*expected.rows, *received.rows)}


def test_a_scan_finds_the_order_by_number_in_any_case_and_by_the_label_as_it_is() -> None:
    order = make_order()
    here = accessioner(order)
    assert arrivals.scanned(here, f" {order.accession.lower()} ") == arrivals.scanned(here, order.specimen.identifier) == [order]
    stranger = make_actor(role=Role.ACCESSIONER, organisation=make_laboratory())
    assert arrivals.scanned(here, "S-") == arrivals.scanned(here, "") == arrivals.scanned(stranger, order.accession) == []
