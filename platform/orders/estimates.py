"""How much work an order is and when it will be done, from what the engine has done lately. A range, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Avg, F, Sum

from engine_queue.models import Job, Run
from foundation import clock
from orders.models import Intake, IntakeRecord, Order
from registry.priority import PRIORITY_RANK

RECENT = timedelta(hours=24)
MEASURED = 20  # jobs that a pace is taken from
SPREAD = 1.5  # the range is the measured pace divided and multiplied by this


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
class _Waiting:
    rank: int
    items: int
    tokens: float


def estimate(intake: Intake) -> Estimate:
    """What scoring this intake's accepted items takes, placed now, for every priority."""
    tokens, deployment = _tokens(intake), intake.test_version.deployment_id
    waiting, pace = _waiting(deployment), _seconds_per_token(deployment, _kind(intake))
    expectations = tuple(_expect(name, rank, tokens, waiting, pace) for name, rank in PRIORITY_RANK.items())
    return Estimate(_items(intake), tokens, expectations)


def remaining(order: Order) -> tuple[float, float] | None:
    """Seconds (from, to) until a running order is scored, or None where nothing comparable was measured."""
    pace = _seconds_per_token(order.test_version.deployment_id, _kind(order.intake))
    if pace is None:
        return None
    seconds = _tokens(order.intake) * (order.items_total - order.items_done) / max(order.items_total, 1) * pace
    return seconds / SPREAD, seconds * SPREAD


def _expect(priority: str, rank: int, tokens: int, waiting: Sequence[_Waiting], pace: float | None) -> Expectation:
    before = [work for work in waiting if work.rank <= rank]
    ahead = sum(work.items for work in before)
    if pace is None:
        return Expectation(priority, ahead, None, None)
    seconds = (tokens + sum(work.tokens for work in before)) * pace
    return Expectation(priority, ahead, seconds / SPREAD, seconds * SPREAD)


def _kind(intake: Intake) -> str:
    return "variant" if intake.kind in ("", "vcf") else "sequence"


def _items(intake: Intake) -> int:
    return int(intake.counts.get("accepted", 0))


def _tokens(intake: Intake) -> int:
    if _kind(intake) == "variant":
        return _items(intake) * _tokens_per_variant(intake.test_version.protocol)
    bases = intake.rows.filter(outcome="accepted").aggregate(bases=Sum("length"))["bases"]
    return int(bases or 0) + _items(intake)  # each sequence after its `bos`


def _tokens_per_variant(protocol: Mapping[str, Any]) -> int:
    strands = 2 if protocol.get("strand") == "average" else 1
    return 2 * strands * (int(protocol["window"]) + 1)  # reference and alternate window, each after its `bos`


def _waiting(deployment: str) -> list[_Waiting]:
    """What every unfinished run of the deployment still has to score."""
    runs = Run.objects.filter(deployment_id=deployment, state__in=["queued", "running"])
    rows = list(runs.values_list("rank", "item_set_id", "item_set__kind", "protocol", F("items_total") - F("items_done")))
    bases = _mean_bases([item_set for _, item_set, kind, _, _ in rows if kind == "sequence"])
    return [
        _Waiting(rank, items, items * (_tokens_per_variant(protocol) if kind == "variant" else bases.get(item_set, 0) + 1))
        for rank, item_set, kind, protocol, items in rows
    ]


def _mean_bases(item_sets: Sequence[UUID]) -> dict[UUID, float]:
    if not item_sets:
        return {}
    records = IntakeRecord.objects.filter(intake__item_set__in=item_sets, outcome="accepted")
    return {
        row["intake__item_set"]: float(row["bases"]) for row in records.values("intake__item_set").annotate(bases=Avg("length"))
    }


def _seconds_per_token(deployment: str, kind: str) -> float | None:
    """Of the latest jobs with items of this kind: a window of a variant and a whole sequence do not take the same path."""
    ended = Job.objects.filter(deployment_name=deployment, state="succeeded", ended_at__gt=clock.now() - RECENT)
    latest = ended.filter(run__item_set__kind=kind, started_at__isnull=False).select_related("run").order_by("-ended_at")
    done = list(latest[:MEASURED])
    tokens = _tokens_of(done, kind)
    spans = [(job.started_at, job.ended_at) for job in done if job.started_at and job.ended_at]
    if not tokens or not spans:
        return None
    # Jobs run side by side: the wall time of the whole group counts, but not idle gaps between its orders.
    whole = (max(ended for _, ended in spans) - min(started for started, _ in spans)).total_seconds()
    wall = min(whole, sum((ended - started).total_seconds() for started, ended in spans))
    return max(wall, 0.001) / tokens


def _tokens_of(jobs: Sequence[Job], kind: str) -> int:
    items = [job.last - job.first + 1 for job in jobs]
    if kind == "variant":
        return sum(number * _tokens_per_variant(job.run.protocol) for number, job in zip(items, jobs, strict=True))
    # By the bases of the sequences, as the work to come is: results count the tokens that a model made of them.
    bases = IntakeRecord.objects.filter(item__result__job__in=jobs).aggregate(bases=Sum("length"))["bases"] if jobs else None
    return int(bases or 0) + sum(items)
