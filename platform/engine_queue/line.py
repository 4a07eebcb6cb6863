"""What an estimate is made of: how much work stands before a run, what is left of it, and how fast work of its kind goes.

Work is counted in tokens of `Run.tokens`, as if nothing were shared: what sharing saves is in the measured rates.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from django.db import connection

from engine_queue import selectors
from engine_queue.reporter import FRESH_SECONDS
from foundation import clock

RECENT = timedelta(hours=24)
MEASURED = 20  # jobs that a rate is taken from
SHORTEST_SECONDS = 0.001

# A run that is on hold, waits for a person, or is about to be cancelled, is in nobody's way and has no end to foresee.
_OPEN = """
    SELECT run.id, run.deployment_id, run.rank, run.due_at, run.items_total - run.items_done AS items,
           run.tokens * (run.items_total - run.items_done)::float / greatest(run.items_total, 1) AS tokens
    FROM engine_queue_run AS run
    WHERE run.state IN ('queued', 'running') AND NOT run.held AND run.deployment_id = ANY({deployments}) AND EXISTS (
        SELECT 1 FROM engine_queue_job AS job
        WHERE job.run_id = run.id AND job.state IN ('queued', 'running') AND job.attention = '' AND NOT job.cancel_requested)
"""
_RUNNING = """
    SELECT job.run_id, sum(job.last - job.first + 1) AS items,
           bool_or(job.engine_state = 'paused' AND job.reported_at > clock_timestamp() - make_interval(secs => %(fresh)s))
               AND NOT bool_or(job.engine_state = 'running') AS paused,
           max(job.finish_low) AS low, max(job.finish_high) AS high,
           bool_and(coalesce(job.finish_high IS NOT NULL AND job.reported_at > clock_timestamp() - make_interval(secs => %(fresh)s),
                             false)) AS foretold
    FROM engine_queue_job AS job
    WHERE job.state = 'running' AND job.deployment_name = ANY({deployments}) GROUP BY job.run_id
"""
# Of each deployment, the run of those asked about that comes last in its line. What stands behind it is looked at no further.
_LAST = """
    SELECT DISTINCT ON (asked.deployment_id) asked.deployment_id, asked.rank, asked.due_at, asked.id
    FROM engine_queue_run AS asked WHERE asked.{by} = ANY(%(asked)s) AND asked.state IN ('queued', 'running')
    ORDER BY asked.deployment_id, asked.rank DESC, asked.due_at DESC, asked.id DESC
"""
# One pass over the lines of the deployments up to there, in the order of the claim. What runs already of those behind may have to
# end first: that is little, and looked for from what runs.
_LINE = """
    WITH last AS MATERIALIZED ({last}), open AS NOT MATERIALIZED ({open}), running AS MATERIALIZED ({running}),
    line AS (
        SELECT open.id, open.deployment_id, open.rank, open.due_at, open.items, open.tokens,
               coalesce(sum(open.tokens) OVER before, 0) AS ahead, coalesce(sum(open.items) OVER before, 0) AS items_ahead
        FROM open JOIN last USING (deployment_id) WHERE (open.rank, open.due_at, open.id) <= (last.rank, last.due_at, last.id)
        WINDOW before AS (PARTITION BY open.deployment_id ORDER BY open.rank, open.due_at, open.id
                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    )
    SELECT run.{by}, line.deployment_id, item_set.kind, line.items, line.tokens, line.ahead, line.items_ahead,
           CASE WHEN line.rank = 0 THEN 0 ELSE (
               SELECT coalesce(sum(open.tokens * running.items / greatest(open.items, 1)), 0)
               FROM running JOIN open ON open.id = running.run_id
               WHERE open.deployment_id = line.deployment_id
                 AND (open.rank, open.due_at, open.id) > (line.rank, line.due_at, line.id)
           ) END,
           coalesce(running.items, 0), coalesce(running.paused, false), coalesce(running.foretold, false),
           running.low, running.high,
           EXISTS (SELECT 1 FROM engine_queue_job AS stuck
                   WHERE stuck.run_id = run.id AND stuck.state IN ('queued', 'running') AND stuck.attention <> '')
    FROM line JOIN engine_queue_run AS run ON run.id = line.id
    JOIN engine_queue_itemset AS item_set ON item_set.id = run.item_set_id LEFT JOIN running ON running.run_id = line.id
    WHERE run.{by} = ANY(%(asked)s)
"""
_BEFORE = """
    WITH open AS ({open})
    SELECT asked.rank, coalesce(sum(open.items), 0), coalesce(sum(open.tokens), 0)
    FROM unnest(%(ranks)s::int[], %(dues)s::timestamptz[]) AS asked(rank, due_at)
    LEFT JOIN open ON (open.rank, open.due_at) < (asked.rank, asked.due_at) GROUP BY asked.rank
"""
_LATEST = """
    SELECT asked.deployment, asked.kind, latest.worker, latest.started_at, latest.ended_at, latest.tokens
    FROM unnest(%(deployments)s::text[], %(kinds)s::text[]) AS asked(deployment, kind), LATERAL (
        SELECT split_part(job.lease_owner, '/', 1) AS worker, job.started_at, job.ended_at,
               run.tokens * (job.last - job.first + 1)::float / greatest(run.items_total, 1) AS tokens
        FROM engine_queue_job AS job JOIN engine_queue_run AS run ON run.id = job.run_id
        JOIN engine_queue_itemset AS item_set ON item_set.id = run.item_set_id
        WHERE job.deployment_name = asked.deployment AND job.state = 'succeeded' AND job.ended_at > %(since)s
          AND job.started_at IS NOT NULL AND item_set.kind = asked.kind AND run.tokens > 0
        ORDER BY job.ended_at DESC LIMIT %(measured)s
    ) AS latest
"""

Kind = tuple[str, str]  # deployment, and the kind of its item set: what is scored, or what is asked


@dataclass(frozen=True)
class Place:
    """Where a run stands."""

    kind: Kind
    items: int  # left
    tokens: float  # left
    ahead: float  # tokens of those that start first
    items_ahead: int
    behind: float  # tokens of those that start later and are being computed already
    begun: bool  # some of it is in an engine
    stuck: bool  # a part of it waits for a person
    claimed: bool  # all that is left is in an engine …
    paused: bool  # … where it stands still for more urgent work
    low: datetime | None  # … and which expects to be done with it between these two; None: nothing of late
    high: datetime | None


@dataclass(frozen=True)
class Before:
    """What would stand before a run that is placed now."""

    items: int
    tokens: float


@dataclass(frozen=True)
class Rate:
    """How fast work of one kind goes."""

    tokens_per_second: float
    served: bool  # by workers that live; else as it went when there was one


def places(orders: Collection[UUID]) -> dict[UUID, Place]:
    """Where the runs of these orders stand in the lines of their deployments; an order without an open run is left out."""
    return _places("order_id", orders)


def places_of_runs(runs: Collection[UUID]) -> dict[UUID, Place]:
    """The same by run; one that is not open is left out."""
    return _places("id", runs)


def before(deployment: str, dues: Mapping[int, datetime]) -> dict[int, Before]:
    """What would stand before a run of this rank and due time, for each rank."""
    asked: dict[str, Any] = {"deployments": [deployment], "ranks": list(dues), "dues": list(dues.values())}
    with connection.cursor() as cursor:
        cursor.execute(_BEFORE.format(open=_OPEN.format(deployments="%(deployments)s")), asked)
        return {rank: Before(int(items), float(tokens)) for rank, items, tokens in cursor.fetchall()}


def rates(kinds: Iterable[Kind]) -> dict[Kind, Rate]:
    """The measured rates of the workers that serve each kind now, added up; nothing for a kind that nobody has measured.

    A worker's rate is what its latest jobs held over the time in which it had one of them. One that lives and has done nothing
    comparable yet counts like the mean of the others.
    """
    asked = sorted(set(kinds))
    if not asked:
        return {}
    measured: dict[Kind, dict[str, list[tuple[datetime, datetime, float]]]] = {}
    with connection.cursor() as cursor:
        deployments, names = zip(*asked, strict=True)
        values: dict[str, Any] = {"deployments": list(deployments), "kinds": list(names)}
        cursor.execute(_LATEST, {**values, "since": clock.now() - RECENT, "measured": MEASURED})
        for deployment, kind, worker, *job in cursor.fetchall():
            measured.setdefault((deployment, kind), {}).setdefault(worker, []).append(tuple(job))
    alive = [worker for worker in selectors.workers() if worker.alive and not worker.halted]
    return {
        kind: _added(by_worker, [worker.name for worker in alive if kind[0] in worker.deployments])
        for kind, by_worker in measured.items()
    }


def _places(by: Literal["order_id", "id"], asked: Collection[UUID]) -> dict[UUID, Place]:
    of = "ARRAY(SELECT deployment_id FROM last)"
    parts = {"last": _LAST.format(by=by), "open": _OPEN.format(deployments=of), "running": _RUNNING.format(deployments=of)}
    with connection.cursor() as cursor:
        cursor.execute(_LINE.format(**parts, by=by), {"asked": list(asked), "fresh": FRESH_SECONDS})
        rows = cursor.fetchall()
    return {key: _place(*row) for key, *row in rows}


def _place(
    deployment: str, kind: str, items: int, tokens: float, ahead: float, items_ahead: int, behind: float,
    running: int, paused: bool, foretold: bool, low: datetime | None, high: datetime | None, stuck: bool,
) -> Place:  # fmt: skip
    known = (low, high) if foretold else (None, None)
    return Place(
        (deployment, kind), items, tokens, ahead, int(items_ahead), behind, running > 0, stuck, running >= items, paused, *known
    )


def _added(by_worker: Mapping[str, Sequence[tuple[datetime, datetime, float]]], alive: Sequence[str]) -> Rate:
    each = {worker: sum(tokens for _, _, tokens in jobs) / _busy(jobs) for worker, jobs in by_worker.items()}
    mean = sum(each.values()) / len(each)
    return Rate(sum(each.get(worker, mean) for worker in alive) or mean, bool(alive))


def _busy(jobs: Sequence[tuple[datetime, datetime, float]]) -> float:
    """Seconds in which at least one of these jobs was in work: they run side by side, and between orders there is nothing to do."""
    busy, until = timedelta(), datetime.min.replace(tzinfo=jobs[0][0].tzinfo)
    for started, ended, _ in sorted(jobs):
        busy += max(timedelta(), ended - max(started, until))
        until = max(until, ended)
    return max(busy.total_seconds(), SHORTEST_SECONDS)
