"""Accession numbers: A26-000001, one series a year."""

from django.db import connection

from foundation import clock
from orders.models import Order


def next_accession() -> str:
    """The next number of this year. Taken late in a transaction: the counter's row stays locked to the commit."""
    year = clock.now().year
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO orders_accessioncounter (year, last) VALUES (%s, 1) "
            "ON CONFLICT (year) DO UPDATE SET last = orders_accessioncounter.last + 1 RETURNING last",
            [year],
        )
        number = cursor.fetchone()[0]
    return f"A{year % 100:02d}-{number:06d}"


def named(order: Order, *, beside: Order) -> str:
    """An order in words that stand on another one: by its accession only where all who may see that one may see this one too."""
    readers = {beside.ordering_organisation_id, beside.performing_laboratory_id}
    seen = readers <= {order.ordering_organisation_id, order.performing_laboratory_id}
    return f"order {order.accession}" if seen else "an order at another laboratory"
