"""Follow each stream day by day: add up its hours, step its tests, keep the window; and take all of it again for an audit."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from drift import calls, features, kept, measures, references, rollup, streams
from drift.models import Call, Following, FrozenReference, Hist, Missing, Window
from drift.references import DAY, midnight
from drift.streams import Light, Stream
from foundation import clock

CODE = ("measures", "sequential", "streams", "thresholds")
_STEPPED = ("light", "distance", "merged", "gate", "plain", "whitened", "limit")


def follow() -> int:
    """Step every live stream over each day that is settled. How many windows were made."""
    now = clock.now()
    return sum(_follow(reference, now) for reference in references.live())


@cache
def code() -> str:
    """SHA-256 over what decides: measures, tests over time, streams, thresholds."""
    folder = Path(__file__).parent
    return hashlib.sha256(b"".join((folder / f"{name}.py").read_bytes() for name in CODE)).hexdigest()


def replay(reference: FrozenReference) -> list[str]:
    """Take every step again from what was counted; what differs from what was kept, in words. Empty: everything is as it was."""
    found = [] if references.digest(reference) == reference.sha256 else ["the reference is not what its SHA-256 covers"]
    restarted = set(Call.objects.filter(reference=reference, state="closed").values_list("closed_after", flat=True))
    stream = Stream.begun(tuple(reference.counts))
    for window in Window.objects.filter(reference=reference).order_by("day"):
        found += _differences(reference, window)
        stream = stream.step(_named(reference, window))
        found += [f"{window.day}: {name} was not what follows" for name, value in _said(stream) if getattr(window, name) != value]
        if window.code != code():
            found.append(f"{window.day}: other measures or thresholds decided then")
        if window.day in restarted:
            stream = stream.restarted()
    state = Following.objects.filter(reference=reference).values_list("stream", flat=True).first()
    if state is not None and kept.read(state) != stream:
        found.append("the state that is kept is not the one that follows from the windows")
    return found


def _follow(reference: FrozenReference, now: datetime) -> int:
    made = 0
    with transaction.atomic():
        Following.objects.get_or_create(
            reference=reference,
            defaults={
                "organisation_id": reference.organisation_id, "day": reference.until,
                "stream": kept.written(Stream.begun(tuple(reference.counts))),
            },
        )  # fmt: skip
    while _step(reference, now):
        made += 1
    return made


def _step(reference: FrozenReference, now: datetime) -> bool:
    """One more day, if it is settled: in one transaction, whoever else tries."""
    with transaction.atomic():
        following = Following.objects.select_for_update().get(reference=reference)
        day = following.day + DAY
        hours = [midnight(day) + n * timedelta(hours=1) for n in range(24)]
        counted = rollup.settled(hours)
        if (len(counted) < 24 and day >= _kept_since(now)) or day >= now.astimezone(UTC).date():
            return False
        window = _counted(reference, day, len(counted))
        stream = kept.read(following.stream).step(_named(reference, window))
        for name, value in _said(stream):
            setattr(window, name, value)
        window.save(force_insert=True)
        following.day, following.stream = day, kept.written(stream)
        following.save(update_fields=["day", "stream"])
        if stream.light in (Light.PAGE, Light.GROSS) and reference.feature in features.CALLING:
            calls.raised(window)
    return True


def _counted(reference: FrozenReference, day: date, hours: int) -> Window:
    """A window with everything but what the tests say of it."""
    added = _added(reference, day)
    gaps = Missing.objects.filter(
        at__gte=midnight(day), at__lt=midnight(day + DAY), kind="clinical", deployment_id=reference.deployment_id,
        test_version_id=reference.test_version_id, model_version_id=reference.model_version_id,
    ).aggregate(number=Sum("number"))["number"]  # fmt: skip
    return Window(
        organisation_id=reference.organisation_id, reference=reference, day=day, hours=hours, missing=gaps or 0, code=code(),
        made_at=clock.now(), **added, **_figures(reference, added),
    )  # fmt: skip


def _added(reference: FrozenReference, day: date) -> dict[str, Any]:
    rows = list(
        Hist.objects.filter(reference=reference, slice="all", hour__gte=midnight(day), hour__lt=midnight(day + DAY)).order_by(
            "hour"
        )
    )
    if not rows:
        return {"n": 0, "mean": 0.0, "low": None, "high": None, "counts": [0] * len(reference.counts)}
    n = sum(row.n for row in rows)
    return {
        "n": n, "mean": sum(row.total for row in rows) / n, "low": min(row.low for row in rows),
        "high": max(row.high for row in rows), "counts": measures.added([row.counts for row in rows]).tolist(),
    }  # fmt: skip


def _figures(reference: FrozenReference, added: dict[str, Any]) -> dict[str, float | None]:
    """Distances of this day alone: shown, and nothing is decided by them."""
    if not added["n"]:
        return {}
    pair, deviation = (added["counts"], reference.counts), references.deviation(reference)
    spans = ((added["low"], added["high"]), (reference.low, reference.high))
    return {
        "psi": measures.population_stability(*pair),
        "psi_chance": measures.stability_of_chance(*pair),
        "wasserstein": measures.wasserstein(*pair, reference.edges, spans) / deviation if deviation else None,
        "jensen_shannon": measures.jensen_shannon(*pair),
    }


def _named(reference: FrozenReference, window: Window) -> streams.Window:
    return streams.Window(f"{reference.pk} {window.day}", tuple(window.counts), window.mean)


def _said(stream: Stream) -> Iterator[tuple[str, Any]]:
    test = stream.whitened.test
    values = (
        stream.light.value, stream.distance, stream.merged, stream.gate, stream.plain.evidence, test.evidence, test.limit,
    )  # fmt: skip
    return zip(_STEPPED, values, strict=True)


def _differences(reference: FrozenReference, window: Window) -> list[str]:
    """Between a window and what the hours hold now, and between its distances and those that follow from its counts."""
    added = _added(reference, window.day)
    kept_now = [name for name, value in added.items() if getattr(window, name) != value]
    figures = _figures(reference, {name: getattr(window, name) for name in added})
    return [f"{window.day}: {name} is counted otherwise now" for name in kept_now] + [
        f"{window.day}: {name} was not what follows" for name, value in figures.items() if getattr(window, name) != value
    ]


def _kept_since(now: datetime) -> date:
    return now.astimezone(UTC).date() - timedelta(days=settings.DRIFT_DAYS)
