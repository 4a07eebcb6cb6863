"""Orders as they are after years."""

from datetime import timedelta

from foundation import clock
from orders.models import Order
from reports.delivery_models import ReportDelivery
from reports.models import ReportVersion
from tests.forging import forging
from tests.reports import cases

LONG_AGO = timedelta(days=3654)


def aged(order: Order, by: timedelta = LONG_AGO, **columns: str) -> Order:
    """As if it had ended so long ago."""
    then = clock.now() - by
    with forging():
        Order.objects.filter(pk=order.pk).update(placed_at=then, accepted_at=then, ended_at=then, **columns)
        ReportDelivery.objects.filter(order=order).update(state="sent", sent_at=then)
        ReportVersion.objects.filter(order=order, released_at__isnull=False).update(released_at=then)
    return cases.read(order)
