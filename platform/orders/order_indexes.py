"""The indexes of orders that lists are read by: of any size, without reading an order that is not shown."""

from datetime import UTC, datetime

from django.db.models import F, Index, Q, Value
from django.db.models.functions import Coalesce

NEVER = datetime(9999, 12, 31, tzinfo=UTC)  # in the place of a due time that is not known yet, so that a list can be sorted
REPORT_DUE = Coalesce("report_due", Value(NEVER))
_OTHERS = Q(ended_at=None) & ~Q(
    ordering_organisation=F("performing_laboratory")
)  # whose own orders a laboratory finds as performer
_SHOWN = ["state", "result_due", "report_due", "assignee", "placed_by", "test_version", "patient", "accession", "stated_mrn"]
_SITES = ["ordering_site", "performing_site"]
_OPEN_SHOWN = [*_SHOWN, "scored_at", "attention", "hold_reason", "risk", "clock_stopped_at", *_SITES]
_CLOSED_SHOWN = [*_SHOWN, "scored_at", "rank", "placed_at", *_SITES]
# What a worklist is counted, filtered and sorted by lies in the index: a count over 100,000 orders reads no order.
LISTS = [
    Index("performing_laboratory", "rank", REPORT_DUE, "placed_at", "id",
          include=[*_OPEN_SHOWN, "ordering_organisation"], condition=Q(ended_at=None), name="list_performed"),
    Index("ordering_organisation", "rank", REPORT_DUE, "placed_at", "id",
          include=[*_OPEN_SHOWN, "performing_laboratory"], condition=_OTHERS, name="list_ordered"),
    Index("performing_laboratory", F("ended_at").desc(), F("id").desc(),
          include=[*_CLOSED_SHOWN, "ordering_organisation"], condition=~Q(ended_at=None), name="closed_performed"),
    Index("ordering_organisation", F("ended_at").desc(), F("id").desc(),
          include=[*_CLOSED_SHOWN, "performing_laboratory"], condition=~Q(ended_at=None), name="closed_ordered"),
]  # fmt: skip

# What a turnaround report says lies in the index of its period: of 50,000 orders none is read.
OF_PERIOD = Index(
    fields=["performing_laboratory", "placed_at"],
    include=[
        "id", "test_version", "rank", "state", "calendar", "clock_zone", "accepted_at", "started_at", "scored_at", "ended_at",
        "result_due", "report_due", "clock_stopped_at",
    ],
    name="order_of_period",
)  # fmt: skip

# Programs ask for the newest of one state, or of what is rare: among 100,000 orders it would be looked for long.
_RARE = {"stat": Q(rank=0), "held": ~Q(hold_reason=""), "attention": ~Q(attention="")}
_SIDES = {"at": "performing_laboratory", "for": "ordering_organisation"}
_NEWEST = (F("placed_at").desc(), F("id").desc())
BY_PLACING = [
    *(Index(side, "state", *_NEWEST, name=f"order_state_{name}") for name, side in _SIDES.items()),
    *(
        Index(side, *_NEWEST, condition=condition, name=f"order_{rare}_{name}")
        for rare, condition in _RARE.items()
        for name, side in _SIDES.items()
    ),
]
