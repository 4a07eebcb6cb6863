"""The times in which an order was on hold, kept as rows so that used time can be counted without them."""

from datetime import datetime

from foundation import clock
from orders.models import Hold, Order


def begin(locked: Order, reason: str, now: datetime) -> None:
    """A locked order waits from now on."""
    Hold.objects.create(organisation_id=locked.performing_laboratory_id, order=locked, reason=reason, since=now)


def end(locked: Order) -> None:
    """It waits no more: it goes on, or is closed."""
    Hold.objects.filter(order=locked, until=None).update(until=clock.now())
