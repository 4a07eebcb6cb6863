"""How much work an order is and between which two moments it will be done, from what the engines foresee and lately did.

What an engine has taken in, it foresees itself. What waits is computed from the work that starts before it and from the measured
rates of the workers that serve it. A range, or nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Sum

from engine_queue import line
from engine_queue.line import Place, Rate
from engine_queue.models import OPEN, Run
from foundation import clock
from orders import promise
from orders.models import Intake, Order
from registry.priority import PRIORITY_RANK

SPREAD = 1.5  # the range is the time that measured rates give, divided and multiplied by this
ESTIMATED = ("accepted", "in_analysis")  # states of an order whose end can be foreseen


@dataclass(frozen=True)
class Expectation:
    """One priority; seconds are None until the engine has done comparable work."""

    priority: str
    ahead: int  # items of more or equally urgent work that start first
    seconds_low: float | None
    seconds_high: float | None


@dataclass(frozen=True)
class Estimate:
    """The work of one intake, and what each priority would mean for it."""

    items: int
    tokens: int
    expectations: tuple[Expectation, ...]


@dataclass(frozen=True)
class Finish:
    """When the last item of an order is scored: between these two."""

    low: datetime
    high: datetime
    ahead: int  # items that start before its first; 0 once an engine has some of it
    served: bool  # a worker lives; else this is how it would be if one did
    paused: bool  # nothing of it is computed now, because more urgent work is


def estimate(intake: Intake) -> Estimate:
    """What scoring this intake's accepted items takes, placed now, for every priority."""
    now, total, test = clock.now(), tokens(intake), intake.test_version
    kind = (test.deployment_id, _kind(intake))
    dues = {rank: promise.hypothetical(test, priority, now) for priority, rank in PRIORITY_RANK.items()}
    ahead, rate = line.before(test.deployment_id, dues), line.rates([kind]).get(kind)
    expectations = tuple(_expectation(priority, ahead[rank], total, rate) for priority, rank in PRIORITY_RANK.items())
    return Estimate(_items(intake), total, expectations)


def finishes(orders: Iterable[Order]) -> dict[UUID, Finish]:
    """When each of these orders will be scored; one of which nothing can be said is left out."""
    asked = {order.pk for order in orders if order.state in ESTIMATED}
    if not asked:
        return {}
    places = line.places(asked)
    rates = line.rates(place.kind for place in places.values())
    now = clock.now()
    made = {order: foreseen(place, rates.get(place.kind), now) for order, place in places.items()}
    return {order: finish for order, finish in made.items() if finish is not None}


def if_it_went_on(order: Order) -> Finish | None:
    """When an order on hold would be scored if it were let go now; None where nothing can be said."""
    run = Run.objects.filter(order_id=order.pk, state__in=OPEN).select_related("item_set").first()
    if run is None:
        return None
    kind, now = (run.deployment_id, run.item_set.kind), clock.now()
    rate = line.rates([kind]).get(kind)
    if rate is None or not rate.served:
        return None
    before = line.before(run.deployment_id, {run.rank: run.due_at})[run.rank]
    left = run.tokens * (run.items_total - run.items_done) / run.items_total
    low, high = (now + timedelta(seconds=seconds) for seconds in seconds_for(left + before.tokens, rate))
    return Finish(low, high, before.items, served=True, paused=False)


def tokens(intake: Intake) -> int:
    """Of all accepted items, as if nothing were shared."""
    if _kind(intake) == "variant":
        return _items(intake) * _tokens_per_variant(intake.test_version.protocol)
    bases = intake.rows.filter(outcome="accepted").aggregate(bases=Sum("length"))["bases"]
    return int(bases or 0) + _items(intake)  # each sequence after its `bos`


def foreseen(place: Place, rate: Rate | None, now: datetime) -> Finish | None:
    """The engine's word where it has everything; what measured rates say otherwise, and never earlier than the engine expects.

    None where nothing is known, and where a part of it waits for a person: who knows until when.
    """
    if place.stuck:
        return None
    ahead = 0 if place.begun else place.items_ahead
    if place.claimed and place.low is not None and place.high is not None:
        earliest = max(now, place.low)
        return Finish(earliest, max(earliest, place.high), ahead, served=True, paused=place.paused)
    if rate is None or place.tokens <= 0:
        return None
    low, high = seconds_for(place.tokens + place.ahead, rate)
    high += place.behind / rate.tokens_per_second * SPREAD
    ends = now + timedelta(seconds=low), now + timedelta(seconds=high)
    return Finish(max(ends[0], place.low or now), max(ends[1], place.high or now), ahead, rate.served, place.paused)


def _expectation(priority: str, ahead: line.Before, total: int, rate: Rate | None) -> Expectation:
    if rate is None:
        return Expectation(priority, ahead.items, None, None)
    return Expectation(priority, ahead.items, *seconds_for(total + ahead.tokens, rate))


def seconds_for(work: float, rate: Rate) -> tuple[float, float]:
    """Between how many seconds as many tokens are computed at a measured rate."""
    seconds = work / rate.tokens_per_second
    return seconds / SPREAD, seconds * SPREAD


def _kind(intake: Intake) -> str:
    return "variant" if intake.kind in ("", "vcf") else "sequence"


def _items(intake: Intake) -> int:
    return int(intake.counts.get("accepted", 0))


def _tokens_per_variant(protocol: Mapping[str, Any]) -> int:
    strands = 2 if protocol.get("strand") == "average" else 1
    return 2 * strands * (int(protocol["window"]) + 1)  # reference and alternate window, each after its `bos`
