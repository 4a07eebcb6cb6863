"""What recording costs: bytes and time of each result, and an hour of a million results a day counted against a reference."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from benchmarks import progress, rig
from benchmarks.laboratory import Laboratory
from benchmarks.measured import Bar, Measured, median, quantile

_DEPLOYMENT = "ecoli-orf-2k-fp32"
_A_DAY = 1_000_000
_SITES, _WORKERS, _ITEMS = 13, 8, 25  # sites and workers of the hour; items of a job
_FILL = """
    INSERT INTO drift_request (at, result_id, organisation_id, site_id, test_version_id, model_version_id, deployment_id, kind,
                               tier, worker, delta, bits, bases, flags, failed)
    SELECT %(at)s::timestamptz + n * interval '1 hour' / %(number)s, n + %(first)s, %(organisation)s,
           md5((n %% %(sites)s)::text)::uuid, %(test)s, %(model)s, %(deployment)s, 'clinical', n %% 4,
           'engine-' || n %% %(workers)s,
           -2 * ln(1 - random()), 1.9 + random() / 10, 512, n %% 3, n %% 500 = 0
    FROM generate_series(0, %(number)s - 1) AS n
"""


def measure(result: Measured, *, quick: bool) -> None:
    """`rollup_seconds`, `bytes_per_request`, `request_ms`."""
    hour_of, looks, jobs = (round(_A_DAY / 240), 3, 40) if quick else (round(_A_DAY / 24), 7, 400)
    with rig.rig() as made:
        laboratory = Laboratory(made, _DEPLOYMENT)
        laboratory.offer("drift", window=512)
        test, hour = _frozen(laboratory, hour_of)
        seconds = [_rolled(hour) for _ in progress.counted("counting an hour", range(looks), looks)]
        taken = [_heard(test, number) for number in progress.counted("recording", range(jobs), jobs)]
        size, rows, histograms = _sizes(hour)
    result.figures |= {
        "rollup_seconds": median(seconds), "bytes_per_request": size / rows, "request_ms": median(taken) * 1e3,
        "request_p99_ms": quantile(taken, 99) * 1e3,
    }  # fmt: skip
    result.bars += [
        Bar(f"an hour of {hour_of:,} results counted into {histograms} histograms", median(seconds), "s"),
        Bar(f"recording added to a job of {_ITEMS} results", median(taken) * 1e3, "ms"),
        Bar("a result with its index", size / rows, "bytes"),
    ]
    result.notes.append(
        f"rollup_seconds: five features, all results, 4 tiers, {_SITES} sites, {_WORKERS} workers; request_ms: what recording adds"
        f" to the transaction of one job of {_ITEMS} results, its commit not counted; bytes_per_request: table and index"
    )


def _frozen(laboratory: Laboratory, number: int) -> tuple[Any, datetime]:
    """A test with a reference of the day before yesterday, and an hour of yesterday full of results."""
    from django.db import connection

    from drift import references
    from drift.references import Period
    from registry.models import TestVersion

    test = TestVersion.objects.select_related("definition", "deployment__model_version").get(definition__code="drift")
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    common = {
        "organisation": laboratory.organisation.pk, "test": test.pk, "model": test.deployment.model_version_id,
        "deployment": test.deployment_id, "sites": _SITES, "workers": _WORKERS, "number": number,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for days, first in ((2, 0), (1, 10**8)):
            cursor.execute(_FILL, {**common, "at": noon - timedelta(days=days), "first": first})
    day = (noon - timedelta(days=2)).date()
    references.freeze(actor=laboratory.actor, test=test, period=Period(day, day))
    return test, noon - timedelta(days=1)


def _rolled(hour: datetime) -> float:
    from drift import rollup

    begun = time.perf_counter()
    rollup.roll(hour)
    return time.perf_counter() - begun


def _heard(test: Any, number: int) -> float:
    """Seconds that the recording of one job takes within its transaction."""
    from django.db import transaction

    from drift import recording
    from engine_queue.models import Result, Run
    from engine_queue.outcomes import Fact

    run = Run(
        id=uuid4(), organisation_id=test.definition.laboratory_id, kind="clinical", test_version=test, rank=3,
        model_version=test.deployment.model_version, deployment=test.deployment,
    )  # fmt: skip
    now, first = datetime.now(UTC), 2 * 10**8 + number * _ITEMS
    results = [
        Result(pk=first + n, created_at=now, ll_ref=-700.0 - n, ll_alt=-701.0, delta=n - 1.0, bases=512, tokens=513, flags=[])
        for n in range(_ITEMS)
    ]
    with transaction.atomic():
        begun = time.perf_counter()
        recording.hear(Fact("results", run, None, results, worker="engine-1"))
        return time.perf_counter() - begun


def _sizes(hour: datetime) -> tuple[int, int, int]:
    """Bytes of all rows with their index, how many they are, and histograms of the hour."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('drift_request') WHERE isleaf")
        size = int(cursor.fetchone()[0])
        cursor.execute("SELECT count(*) FROM drift_request")
        rows = int(cursor.fetchone()[0])
        cursor.execute("SELECT count(*) FROM drift_hist WHERE hour = %s", [hour])
        return size, rows, int(cursor.fetchone()[0])
