"""What stood on a STAT list that somebody read or printed, kept so that it can be held against what came of it after a downtime."""

from collections.abc import Iterable
from datetime import timedelta

from accounts.models import Organisation
from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from orders.downtimes.rows import StatList
from orders.models import Order

GOES_ON = timedelta(minutes=2)  # a window that was not read for longer was cut off: what it showed is kept, a new row begins


def keep(actor: Actor, orders: Iterable[Order]) -> list[StatList]:
    """The list as this person of a laboratory reads it now: a row for each of his, moved on while he goes on reading."""
    listed, now = list(orders), clock.now()
    laboratories = Organisation.objects.filter(pk__in=actor.organisations(Verb.VIEW_ORDER), is_laboratory=True)
    kept: list[StatList] = []
    for laboratory in laboratories.order_by("code").values_list("pk", flat=True):
        mine = [order.pk for order in listed if order.performing_laboratory_id == laboratory]
        last = StatList.objects.filter(organisation_id=laboratory, person_id=actor.id, read_at__gte=now - GOES_ON)
        row = last.order_by("-read_at").first()
        if row is None:
            new = {"organisation_id": laboratory, "person_id": actor.id, "began_at": now, "read_at": now, "orders": mine}
            row = StatList.objects.create(**new)
        else:
            row.read_at, row.orders = now, mine
            row.save(update_fields=["read_at", "orders"])
        kept.append(row)
    return kept
