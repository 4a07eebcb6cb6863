"""The clock of leases is the database's: processes that disagree about the time still agree who holds what."""

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper, Func, Value
from django.db.models.expressions import Combinable

LEASE_SECONDS = 30


class DatabaseNow(Func):
    """The moment at which the statement looks, not the one at which its transaction began."""

    function = "clock_timestamp"
    output_field = DateTimeField()


def lease_end() -> Combinable:
    """When a lease taken or renewed now ends."""
    return ExpressionWrapper(DatabaseNow() + Value(timedelta(seconds=LEASE_SECONDS)), output_field=DateTimeField())
