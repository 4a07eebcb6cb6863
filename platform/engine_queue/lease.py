"""Leases: of a worker's name, and of the jobs it holds. Their time is the database's clock.

A worker that cannot renew stops before its leases end, so that nobody else computes the same job beside it. Renewing needs
progress of the engine: a hung engine loses its jobs instead of keeping them for ever.
"""

import contextlib
import json
import os
import re
import socket
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from engine_queue.errors import NameTaken, WorkerRefused
from engine_queue.lease_time import LEASE_SECONDS, DatabaseNow
from engine_queue.models import Worker
from foundation import clock

MARGIN_SECONDS = 10  # a worker that could not renew for all but this much of a lease stops
NAME_LIMIT = 60

_EXTEND_NAME = """
    UPDATE engine_queue_worker
    SET lease_until = clock_timestamp() + make_interval(secs => %(lease)s), seen_at = clock_timestamp(), stats = %(stats)s::jsonb
    WHERE name = %(name)s AND incarnation = %(incarnation)s
"""
# SKIP LOCKED: a job whose results are being written at this moment needs no longer lease, and no writer is waited for.
_EXTEND_JOBS = """
    UPDATE engine_queue_job SET lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    WHERE id IN (SELECT id FROM engine_queue_job WHERE id = ANY(%(jobs)s) AND lease_owner = %(owner)s AND state = 'running'
                 ORDER BY id FOR UPDATE SKIP LOCKED)
"""
_REMAINING = "SELECT extract(epoch FROM lease_until - clock_timestamp())::float FROM engine_queue_worker WHERE name = %s"
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))"


@dataclass(frozen=True)
class NameLease:
    """A worker's name, held by one process at a time."""

    name: str
    incarnation: str

    def extend(self, stats: Mapping[str, Any]) -> bool:
        """Hold it for another lease; False when another incarnation has taken it."""
        values: dict[str, Any] = {
            "name": self.name,
            "incarnation": self.incarnation,
            "lease": LEASE_SECONDS,
            "stats": json.dumps(dict(stats)),
        }
        with connection.cursor() as cursor:
            cursor.execute(_EXTEND_NAME, values)
            return bool(cursor.rowcount == 1)

    def announce(self, *, deployments: Sequence[str], fingerprints: Mapping[str, str]) -> None:
        """Say what this worker serves."""
        Worker.objects.filter(name=self.name, incarnation=self.incarnation).update(
            deployments=list(deployments), fingerprints=dict(fingerprints)
        )

    def give_back(self) -> None:
        """Let the next process of this name start at once."""
        Worker.objects.filter(name=self.name, incarnation=self.incarnation).update(lease_until=DatabaseNow(), deployments=[])


def check_name(name: str) -> None:
    """Names become keys of the broker and parts of leases."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) or len(name) > NAME_LIMIT:
        raise WorkerRefused(f"{name!r} is no worker name: letters, digits, dot, dash and underscore, at most {NAME_LIMIT}")


def take_name(name: str, *, kind: str, sleep: Callable[[float], None] = time.sleep) -> NameLease:
    """Take a worker name. A dead holder on this host is followed at once, one elsewhere when its lease has ended.

    Raises `NameTaken` when the holder is alive: its process runs here, or it renewed its lease while we waited for the end of it.
    """
    holder = _try_to_take(name, kind)
    if isinstance(holder, Worker) and holder.host != _host():
        sleep(max(0.0, _remaining(name)) + 0.2)
        holder = _try_to_take(name, kind)
    if isinstance(holder, Worker):
        raise NameTaken(f"the worker name {name} is held by process {holder.pid} on {holder.host}: stop it or choose another name")
    return holder


def hold_name(name: str) -> None:
    """Let nobody take this name before the caller's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME, [name])


def extend_jobs(owner: str, jobs: Sequence[int]) -> None:
    """Hold these jobs for another lease, those of them that are still ours."""
    with connection.cursor() as cursor:
        cursor.execute(_EXTEND_JOBS, {"jobs": list(jobs), "owner": owner, "lease": LEASE_SECONDS})


def _try_to_take(name: str, kind: str) -> NameLease | Worker:
    """The lease, or the worker that holds it."""
    with transaction.atomic():
        hold_name(name)
        holder = Worker.objects.filter(name=name).first()
        if holder is not None and _remaining(name) > 0 and not _is_dead(holder):
            return holder
        return _install(name, kind)


def _install(name: str, kind: str) -> NameLease:
    incarnation = f"{name}/{uuid.uuid4().hex[:16]}"
    now = clock.now()
    Worker.objects.update_or_create(
        name=name,
        defaults={
            "kind": kind, "incarnation": incarnation, "host": _host(), "pid": os.getpid(), "process": _process(os.getpid()) or "",
            "deployments": [], "fingerprints": {}, "stats": {}, "started_at": now, "seen_at": now, "lease_until": now,
        },
    )  # fmt: skip
    lease = NameLease(name, incarnation)
    lease.extend({})  # by the database's clock
    return lease


def _remaining(name: str) -> float:
    with connection.cursor() as cursor:
        cursor.execute(_REMAINING, [name])
        return float(cursor.fetchone()[0])


def _host() -> str:
    return socket.gethostname()[:120]


def _is_dead(holder: Worker) -> bool:
    """Whether the holder's process ran on this host and is no more. A later process may have got its number."""
    if holder.host != _host():
        return False
    if holder.pid == os.getpid():
        return True  # a process has one incarnation: this number was another's, before
    found = _process(holder.pid)
    return found is None or (bool(holder.process) and found != holder.process)


def _process(pid: int) -> str | None:
    """Boot and start of a running process, in words of the kernel's; None when there is none, or only its unreaped remains.

    No time of day: a clock that is set forward must not make a living process look like a later one with its number.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    boot = ""
    with contextlib.suppress(OSError):  # not every container shows it
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None if fields[0] in "ZX" else f"{boot} {fields[19]}"
