"""Rows as a later moment would have made them. The application cannot write them so; a test may put an order into the past."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from orders.models import Order


@contextmanager
def forging() -> Iterator[None]:
    """No trigger looks at what is written in here (`tests.databases.FORGING`); they are back after it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT forging(true)")
        yield
        cursor.execute("SELECT forging(false)")


def forge(order: Order, **columns: Any) -> None:
    """Give an order these columns, whatever its past."""
    with forging():
        Order.objects.filter(pk=order.pk).update(**columns)
