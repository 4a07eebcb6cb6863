"""Two accessioners with the same tube at the same moment: one is first, the other is told."""

from collections.abc import Iterator

import pytest

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from orders import reception, rejection
from orders.models import Order, Specimen
from orders.reception import Arrival
from tests.factories import make_actor, make_order
from tests.orders.test_holding_at_once import at_once


@pytest.fixture
def order(clone_db: str, valkey_url: str) -> Iterator[Order]:
    yield make_order()


def test_a_tube_is_received_once_and_rejected_once_however_many_scan_it(order: Order) -> None:
    people = [make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory) for _ in range(4)]
    arrival = Arrival(received_at=clock.now(), condition="acceptable")
    came = [lambda one=one: reception.receive(order=order, arrival=arrival, actor=one) for one in people]  # type: ignore[misc]
    assert at_once(came) == ["", *["Came"] * 3]
    reason = "specimen.leaked"
    gone = [lambda one=one: rejection.reject(order=order, reason=reason, words="", actor=one) for one in people]  # type: ignore[misc]
    assert at_once(gone) == ["", *["Rejected"] * 3]
    assert Specimen.objects.get(pk=order.specimen_id).state == "rejected"
    told = Event.objects.filter(object_id=str(order.pk), action__startswith="order.specimen_").order_by("id")
    assert list(told.values_list("action", flat=True)) == ["order.specimen_received", "order.specimen_rejected"]
