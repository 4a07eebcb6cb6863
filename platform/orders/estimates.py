"""How much work an order is and when it will be done, from what the engine has done lately. A range, or nothing."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Max, Min, Sum

from engine_queue.models import Job
from foundation import clock
from orders.models import Intake, Order

RECENT = timedelta(hours=24)
SPREAD = 1.5  # the range is the measured pace divided and multiplied by this


@dataclass(frozen=True)
class Estimate:
    """Work and time; seconds are None until the engine has done comparable work."""

    items: int
    tokens: int
    ahead: int  # items of more or equally urgent work that start first
    seconds_low: float | None
    seconds_high: float | None


def estimate(intake: Intake, *, rank: int = 3) -> Estimate:
    """What scoring this intake's accepted items takes, placed now with a priority of `rank`."""
    items = int(intake.counts.get("accepted", 0))
    deployment = intake.test_version.deployment_id
    ahead = _waiting(deployment, rank)
    pace = _seconds_per_item(deployment)
    seconds = None if pace is None else (items + ahead) * pace
    return Estimate(
        items=items,
        tokens=items * _tokens_per_item(intake),
        ahead=ahead,
        seconds_low=None if seconds is None else seconds / SPREAD,
        seconds_high=None if seconds is None else seconds * SPREAD,
    )


def remaining(order: Order) -> tuple[float, float] | None:
    """Seconds (from, to) until a running order is scored, or None where nothing comparable was measured."""
    pace = _seconds_per_item(order.test_version.deployment_id)
    if pace is None:
        return None
    seconds = (order.items_total - order.items_done) * pace
    return seconds / SPREAD, seconds * SPREAD


def _tokens_per_item(intake: Intake) -> int:
    protocol = intake.test_version.protocol
    strands = 2 if protocol.get("strand") == "average" else 1
    return 2 * strands * (int(protocol["window"]) + 1)  # reference and alternate window, each after its `bos`


def _waiting(deployment: str, rank: int) -> int:
    jobs = Job.objects.filter(deployment_name=deployment, state__in=["queued", "running"], rank__lte=rank, attention="")
    return int(jobs.aggregate(items=Sum(F("last") - F("first") + 1))["items"] or 0)


def _seconds_per_item(deployment: str) -> float | None:
    since = clock.now() - RECENT
    done = Job.objects.filter(deployment_name=deployment, state="succeeded", ended_at__gt=since).order_by("-ended_at")[:20]
    items = sum(job.last - job.first + 1 for job in done)
    spans = [(job.ended_at - job.started_at).total_seconds() for job in done if job.ended_at and job.started_at]
    if not items or not spans:
        return None
    window = Job.objects.filter(pk__in=[job.pk for job in done]).aggregate(first=Min("started_at"), last=Max("ended_at"))
    # Jobs run side by side: the wall time of the whole group counts, but not idle gaps between its orders.
    wall = min((window["last"] - window["first"]).total_seconds(), sum(spans))
    return float(max(wall, 0.001) / items)
