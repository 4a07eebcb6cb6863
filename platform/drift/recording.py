"""Keep a row of each result, in its transaction. What fails here costs the row and never the result."""

import math
from typing import TYPE_CHECKING, Any

import structlog
from django.db import Error, IntegrityError, connection, transaction

from drift.models import Missing
from engine_queue.models import Result, Run
from foundation import clock

if TYPE_CHECKING:
    from engine_queue.outcomes import Fact

log = structlog.get_logger(__name__)

_INSERT = """
    INSERT INTO drift_request (at, result_id, organisation_id, site_id, test_version_id, model_version_id, deployment_id, kind,
                               tier, worker, delta, bits, bases, flags, failed)
    SELECT r.at, r.result_id, %(organisation)s, (SELECT ordering_site_id FROM orders_order WHERE id = %(order)s), %(test)s,
           %(model)s, %(deployment)s, %(kind)s, %(tier)s, %(worker)s, r.delta, r.bits, r.bases, r.flags, r.failed
    FROM unnest(%(at)s::timestamptz[], %(result)s::bigint[], %(delta)s::float8[], %(bits)s::float8[], %(bases)s::integer[],
                %(flags)s::smallint[], %(failed)s::boolean[]) AS r (at, result_id, delta, bits, bases, flags, failed)
"""
_UNWRITTEN = "SELECT nextval('drift_unwritten')"  # no rollback takes a number of a sequence back


def hear(fact: "Fact") -> None:
    """Record the results of a job, in a savepoint; where that fails, that they are missing."""
    if fact.kind != "results" or not fact.results:
        return
    row = _row(fact)
    try:
        try:
            _write(row)
        except IntegrityError:  # its day got a partition while it waited to write into the default one: the next try finds it
            _write(row)
    except Error as error:
        log.warning("drift.not_recorded", run=str(fact.run.pk), results=len(fact.results), error=type(error).__name__)
        _miss(fact, error)


def bits_per_base(result: Result) -> float | None:
    """−log₂ of the probability of the reference window for each base, of a sequence its own; None where nothing was scored."""
    said = result.ll_alt if result.ll_ref is None else result.ll_ref
    if said is None or not result.bases:
        return None
    return _finite(-said / result.bases / math.log(2))


def _write(row: dict[str, Any]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_INSERT, row)


def _row(fact: "Fact") -> dict[str, Any]:
    """What all have in common, and an array for each thing that they have not."""
    run, rows = fact.run, fact.results
    return {
        "organisation": run.organisation_id, "order": run.order_id, "test": run.test_version_id, "model": run.model_version_id,
        "deployment": run.deployment_id, "kind": run.kind, "tier": fact.job.rank if fact.job else run.rank, "worker": fact.worker,
        "at": [row.created_at for row in rows], "result": [row.pk for row in rows], "delta": [_finite(row.delta) for row in rows],
        "bits": [bits_per_base(row) for row in rows], "bases": [row.bases for row in rows],
        "flags": [len(row.flags) for row in rows], "failed": [bool(row.failure) for row in rows],
    }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _miss(fact: "Fact", error: Error) -> None:
    try:
        with transaction.atomic():
            _gap(fact.run, len(fact.results), type(error).__name__).save(force_insert=True)
    except Error as worse:
        log.error("drift.gap_not_recorded", run=str(fact.run.pk), results=len(fact.results), error=type(worse).__name__)
        with connection.cursor() as cursor:
            cursor.execute(_UNWRITTEN)


def _gap(run: Run, number: int, why: str) -> Missing:
    return Missing(
        at=clock.now(), organisation_id=run.organisation_id, test_version_id=run.test_version_id,
        model_version_id=run.model_version_id, deployment_id=run.deployment_id, kind=run.kind, number=number, why=why,
    )  # fmt: skip
