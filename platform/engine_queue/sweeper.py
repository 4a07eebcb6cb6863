"""Puts right what crashes leave behind: leases that ended, messages of the dead, lost tickets, runs that nobody closed."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import redis
import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from redis.exceptions import RedisError

from engine_queue import claim, deaths, janitor, outcomes, settling, supply, tickets
from engine_queue.lease_time import LEASE_SECONDS
from engine_queue.models import Job, Result, Run, Sweep
from engine_queue.units import AWAY, alone
from foundation import clock

log = structlog.get_logger(__name__)

NAME = "sweeper"
LOCK = 7_241_001  # advisory: one active sweeper
EPOCH_KEY = "helicase:broker-epoch"
OUTAGE = timedelta(seconds=15)  # longer than this between two turns: nobody could renew a lease either
BATCH = 500  # tickets of one turn

AHEAD = timedelta(minutes=1)  # further in the future than this is no moment: the clock was wrong when it was written

# Back-off from 30 seconds to 10 minutes; a job whose first ticket never went waits only as long as a commit may take.
_DUE = """
    SELECT id FROM engine_queue_job
    WHERE state = 'queued' AND attention = '' AND NOT held AND (
        (ticket_at IS NULL AND created_at NOT BETWEEN %(now)s - interval '5 seconds' AND %(ahead)s)
        OR ticket_at > %(ahead)s
        OR ticket_at < %(lost_before)s
        OR ticket_at < %(now)s - make_interval(secs => least(600, 30 * 2 ^ least(tickets - 1, 10))))
    ORDER BY rank, due_at, id LIMIT %(batch)s
"""


@dataclass
class Swept:
    """What one turn did."""

    active: bool = True  # False: another sweeper is at work
    buried: int = 0
    returned: int = 0  # messages of workers that never came back
    tickets: int = 0
    repaired: int = 0


def sweep() -> Swept:
    """One turn."""
    with alone(LOCK) as ours:
        if not ours:
            return Swept(active=False)
        memory = _memory()
        now = clock.now()
        if now - memory.last_at > OUTAGE:
            memory.lenient_until = now + timedelta(seconds=LEASE_SECONDS)
        judging = not now < memory.lenient_until <= now + AHEAD
        done = Swept(
            buried=_bury() if judging else 0,
            returned=_return_messages() if judging else 0,
            tickets=_resend(memory, now),
            repaired=_repair(),
        )
        memory.last_at = clock.now()
        memory.repairs += done.repaired
        memory.save()
    return done


def _memory() -> Sweep:
    now = clock.now()
    return Sweep.objects.get_or_create(pk=1, defaults={"last_at": now, "lenient_until": now})[0]


def _bury() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, run_id, lease_owner, attempt FROM engine_queue_job"
            " WHERE state = 'running' AND lease_until < clock_timestamp() ORDER BY rank, id LIMIT %s",
            [BATCH],
        )
        ended = cursor.fetchall()
    return sum(
        _guarded(partial(deaths.bury, job, run, owner=owner, attempt=attempt, by=NAME)) for job, run, owner, attempt in ended
    )


def _return_messages() -> int:
    try:
        with _broker() as broker:
            return janitor.return_messages(broker)
    except tickets.BROKER_ERRORS as error:
        log.warning("sweeper.broker_away", error=type(error).__name__)
        return 0


def _broker() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2)


def _resend(memory: Sweep, now: datetime) -> int:
    try:
        with _broker() as broker:
            _notice_loss(broker, memory, now)
            return tickets.send(_wanted(broker, memory, now))
    except RedisError as error:
        log.warning("sweeper.broker_away", error=type(error).__name__)
        return 0


def _notice_loss(broker: redis.Redis, memory: Sweep, now: datetime) -> None:
    """The broker carries a key of ours. Gone or another: it forgot everything, and every ticket before now is lost."""
    if broker.get(EPOCH_KEY) == memory.broker_epoch.encode():
        return
    if memory.broker_epoch:
        log.warning("sweeper.broker_lost_its_memory")
        memory.broker_since = now
    memory.broker_epoch = uuid.uuid4().hex
    broker.set(EPOCH_KEY, memory.broker_epoch)


def _wanted(broker: redis.Redis, memory: Sweep, now: datetime) -> list[Job]:
    """Jobs that are due for another ticket, no more of them than tickets are missing in their queue."""
    lost_before = memory.broker_since or datetime.min.replace(tzinfo=now.tzinfo)
    due = list(Job.objects.raw(_DUE, {"now": now, "ahead": now + AHEAD, "lost_before": lost_before, "batch": BATCH}))
    missing: dict[str, int] = {}
    wanted = []
    for job in due:
        queue = tickets.queue_of(job)
        if queue not in missing:
            missing[queue] = _queued(job) - int(broker.llen(queue))
        if missing[queue] > 0:
            missing[queue] -= 1
            wanted.append(job)
    return wanted


def _queued(like: Job) -> int:
    waiting = Job.objects.filter(state="queued", attention="", held=False, deployment_name=like.deployment_name)
    stat = Q(rank=tickets.STAT_RANK)
    return waiting.filter(stat if like.rank == tickets.STAT_RANK else ~stat).count()


def _stuck_runs() -> QuerySet[Run]:
    alive = Job.objects.filter(run=OuterRef("pk"), state__in=["queued", "running"])
    return Run.objects.filter(~Exists(alive), state__in=["queued", "running"])


def _repair() -> int:
    return sum(_guarded(partial(_repair_run, run)) for run in _stuck_runs().order_by("created_at")[:BATCH])


def _guarded(repair: Callable[[], bool]) -> bool:
    """One thing that cannot be put right must not keep the others waiting."""
    try:
        return repair()
    except AWAY:
        raise
    except Exception:  # process edge: a listener's fault is logged, and met again at the next turn
        log.exception("sweeper.failed")
        return False


def _repair_run(run: Run) -> bool:
    """An open run without a live job: close it when all its results are there, else cut what was never cut."""
    with transaction.atomic():
        outcomes.lock(run)
        run = Run.objects.select_for_update().get(pk=run.pk)
        if not _stuck_runs().filter(pk=run.pk).exists():
            return False
        there = Result.objects.filter(run=run).count()
        if there == run.items_total:
            run.items_done = there
            run.save(update_fields=["items_done"])
            if run.state == "queued":
                claim.begin(run, None, worker=NAME)
            settling.close(run, worker=NAME)
        elif not supply.top_up(run):
            log.critical("sweeper.run_cannot_be_repaired", run=str(run.pk), results=there, items=run.items_total)
            return False
    log.error("sweeper.repaired_a_run", run=str(run.pk), results=there, items=run.items_total)
    return True
