"""The reconciliation list of a downtime: what the platform finds, what a person adds, and the ticks of people."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import Q

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from orders.downtimes.rows import Downtime, DowntimeLine, LineKind
from orders.errors import InvalidOrder
from orders.models import Order
from orders.remarks import remark

AT_ONCE = 500  # lines ticked by one press
_LATE = "orders_lateentry l JOIN orders_order o ON o.id = l.order_id WHERE l.downtime_id = %(downtime)s"
_OPEN_THEN = "o.placed_at < %(began)s AND (o.ended_at IS NULL OR o.ended_at > %(began)s)"
# (kind, its key, the order, the other order, the words, from where)
_FOUND = {
    LineKind.ENTERED_LATE: ("o.id::text", "o.id", "NULL::uuid", "''", _LATE),
    LineKind.NO_SPECIMEN: (
        "o.id::text", "o.id", "NULL::uuid", "''",
        f"orders_specimen s, {_LATE} AND s.id = o.specimen_id AND s.state = 'expected'",
    ),
    LineKind.NUMBER_TWICE: (
        "o.id::text || '|' || t.id::text", "o.id", "t.id", "o.placer_number",
        "orders_order t, " + _LATE + " AND t.ordering_organisation_id = o.ordering_organisation_id AND t.id <> o.id"
        " AND o.placer_number <> '' AND t.placer_number = o.placer_number"
        " AND t.performing_laboratory_id = %(laboratory)s AND t.placed_at > %(began)s - interval '1 day'",
    ),
    LineKind.IN_PROGRESS: (
        "o.id::text", "o.id", "NULL::uuid", "''",
        f"orders_order o WHERE o.performing_laboratory_id = %(laboratory)s AND {_OPEN_THEN}",
    ),
    LineKind.ON_LIST: (
        "o.id::text", "o.id", "NULL::uuid", "''",
        "orders_statlist p JOIN orders_order o ON o.id = ANY(p.orders) WHERE p.id = %(list)s"
        " AND o.performing_laboratory_id = %(laboratory)s",
    ),
    LineKind.TOLD: (
        "d.id::text", "d.order_id", "NULL::uuid", "'Told of a delay: ' || d.told",
        "orders_delaynotice d WHERE d.organisation_id = %(laboratory)s AND d.means = 'phone' AND d.told_at >= %(began)s"
        " AND d.told_at <= coalesce(%(ended)s, %(now)s)",
    ),
}  # fmt: skip
AFTER_ENTRY = (LineKind.ENTERED_LATE, LineKind.NO_SPECIMEN, LineKind.NUMBER_TWICE)


def refresh(downtime: Downtime, kinds: tuple[LineKind, ...] = tuple(_FOUND)) -> int:
    """Add the lines of these kinds that are not there yet; how many. A line stays, whatever becomes of its matter."""
    values: dict[str, Any] = {
        "downtime": downtime.pk, "laboratory": downtime.organisation_id, "began": downtime.began_at, "ended": downtime.ended_at,
        "list": downtime.stat_list_id, "now": clock.now(),
    }  # fmt: skip
    made = 0
    with connection.cursor() as cursor:
        for kind in kinds:
            key, order, other, words, source = _FOUND[kind]
            cursor.execute(
                f"""INSERT INTO orders_downtimeline
                    (organisation_id, downtime_id, kind, key, order_id, other_id, words, added_at, note)
                    SELECT %(laboratory)s, %(downtime)s, %(kind)s, {key}, {order}, {other}, left({words}, 300), %(now)s, ''
                    FROM {source} ON CONFLICT (downtime_id, kind, key) DO NOTHING""",  # noqa: S608 -- our own words
                values | {"kind": str(kind)},
            )
            made += cursor.rowcount
    return made


def add(*, actor: Actor, downtime: Downtime, kind: str, accession: str, words: str) -> DowntimeLine:
    """Note something that happened on paper. Raises `NotPermitted`, `InvalidOrder` or `Refused`."""
    require(actor, Verb.LATE_ENTRY, downtime.organisation_id)
    if kind not in DowntimeLine.BY_HAND:
        raise InvalidOrder({"kind": ["Choose one of the listed kinds."]})
    said = remark(words, field="words", missing="Say what happened, to whom it was told, and when.")
    with transaction.atomic():
        locked, order = lock(downtime), None
        if accession.strip():
            orders = Order.objects.for_actor(actor).filter(performing_laboratory_id=locked.organisation_id)
            order = orders.filter(accession=accession.strip().upper()).first()
            if order is None:
                raise InvalidOrder({"accession": ["This laboratory has no order of this number."]})
        made: DowntimeLine = DowntimeLine.objects.create(
            organisation_id=locked.organisation_id, downtime=locked, kind=kind, key=str(uuid4()), order=order, words=said,
            added_by_id=actor.id, added_at=clock.now(),
        )  # fmt: skip
        tell(locked, "downtime.noted", actor, {"line": made.pk, "order": str(order.pk) if order else ""})
    return made


def around(laboratory_id: UUID, at: datetime | None) -> list[Downtime]:
    """The open downtimes of a laboratory that a moment lies in, locked: before any order, as whoever looks for lines does it."""
    if at is None:
        return []
    open_ = Downtime.objects.filter(organisation_id=laboratory_id, state="open", began_at__lte=at)
    within = open_.filter(Q(ended_at=None) | Q(ended_at__gte=at))
    return list(within.select_for_update(of=("self",)).order_by("pk"))


def told(downtimes: Iterable[Downtime], order: Order, *, key: str, words: str) -> None:
    """A line for what was told by telephone about an order, in each of these downtimes that `around` has locked."""
    for one in downtimes:
        DowntimeLine.objects.create(
            organisation_id=one.organisation_id, downtime=one, kind=LineKind.TOLD, key=key, order=order, words=words[:300],
            added_at=clock.now(),
        )  # fmt: skip


def look_again(*, actor: Actor, downtime: Downtime) -> int:
    """Look for what has come since. Raises `NotPermitted` or `Refused`."""
    require(actor, Verb.LATE_ENTRY, downtime.organisation_id)
    with transaction.atomic():
        return refresh(lock(downtime))


def tick(*, actor: Actor, downtime: Downtime, chosen: list[int], note: str) -> int:
    """Say of these lines that they are settled, and how; how many were. Raises `NotPermitted`, `InvalidOrder` or `Refused`."""
    require(actor, Verb.LATE_ENTRY, downtime.organisation_id)
    said = remark(note, field="note", missing="Say how it was settled.")
    if not chosen:
        raise InvalidOrder({"line": ["Choose at least one line."]})
    with transaction.atomic():
        locked = lock(downtime)
        open_ = DowntimeLine.objects.filter(downtime=locked, ticked_at=None, pk__in=chosen[:AT_ONCE])
        ticked = sorted(open_.values_list("pk", flat=True))
        open_.filter(pk__in=ticked).update(ticked_at=clock.now(), ticked_by_id=actor.id, note=said)
        if not ticked:
            raise Refused("Somebody has ticked these lines already. Look at the list again.", code="state.stale")
        tell(locked, "downtime.ticked", actor, {"lines": ticked})
    return len(ticked)


def lock(downtime: Downtime) -> Downtime:
    """The open downtime as it stands now, locked. Raises `Refused` where it is closed."""
    locked = Downtime.objects.select_for_update(of=("self",)).select_related("organisation").get(pk=downtime.pk)
    if locked.state != "open":
        raise Refused(f"Downtime {locked.code} is {locked.state}: nothing of it is changed any more.", code="state.stale")
    return locked


def tell(downtime: Downtime, action: str, actor: Actor, facts: Mapping[str, object], *, reason: str = "") -> None:
    """The event of a downtime."""
    audit.record(actor=actor, action=action, obj=downtime, organisation_id=downtime.organisation_id, reason=reason, facts=facts)
