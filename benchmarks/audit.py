"""`audit`: manipulations found, what sealing costs who writes events, a million events checked, the window before an anchor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import psycopg

from benchmarks import progress, rig, tampering
from benchmarks.measured import Bar, Measured, NotMeasured, median, quantile
from benchmarks.options import Options
from benchmarks.peer import ROOT

_SMALL, _WHOLE, _QUICK_WHOLE = 2_000, 1_000_000, 30_000  # events
_DAYS = 5  # that the small chain spans
_TAMPERED = 100
_WRITERS, _EACH_PER_SECOND = 16, 10.0
_SECONDS, _OPEN = 14.0, (3.0, 8.0)  # of a round; while another transaction of the laboratory is open
_FILL = """
    INSERT INTO audit_event (at, organisation_id, actor_id, actor_name, action, object_type, object_id, reason, facts, origin)
    SELECT now() - %(before)s + n * %(step)s, %(owner)s, gen_random_uuid(), 'Person ' || n %% 40, 'order.viewed', 'orders.order',
        gen_random_uuid()::text, '', jsonb_build_object('version', n, 'from', 'accepted', 'to', 'in_analysis'), 'page, 192.0.2.7'
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
"""


def audit(options: Options) -> Measured:
    """The keys of docs/benchmarks.md."""
    whole = _QUICK_WHOLE if options.quick else _WHOLE
    result = Measured("audit", f"The audit chain: manipulations, writing beside the sealer, {whole:,} events checked", "none", 1)
    with rig.rig() as made:
        folder = Path(made.environment["AUDIT_ANCHORS"])
        chain = _Chain(made.environment["DATABASE_URL"], folder)
        chain.grow(_SMALL, timedelta(days=_DAYS), per_transaction=10)
        chain.seal(lines=1)
        small = _checked(result, made, _SMALL)
        _tampered(result, made, folder)
        _writing(result, made, 1 if options.quick else 2)
        chain.grow(whole - chain.events(), timedelta(days=60), per_transaction=10_000)
        _sealed(result, chain)
        large = _checked(result, made, whole)
    result.figures |= {
        "verify_seconds_per_million": large["started"] + (large["seconds"] - large["started"]) / whole * 1e6,
        "peak_mb": large["peak_mb"],
        "growth_mb": large["peak_mb"] - small["peak_mb"],
    }
    result.bars.append(Bar(f"verify_audit over {whole:,} events", whole / large["seconds"], "events/s"))
    result.notes += [
        f"verify_seconds_per_million: the command as a whole, its start ({large['started']:.1f} s of {large['seconds']:.1f} s),"
        f" over {large['links']:,.0f} links and {large['anchors']:,.0f} anchors",
        "peak_mb: resident memory of the command; growth_mb: against the same over 2,000 events",
    ]
    return result


class _Chain:
    """Events without a platform around them, and a sealer in this process."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder, self.owner = url, folder, uuid4()

    def events(self) -> int:
        """How many there are."""
        with psycopg.connect(self.url) as connection:
            found = connection.execute("SELECT count(*) FROM audit_event").fetchone()
        return int(found[0]) if found else 0

    def grow(self, number: int, span: timedelta, *, per_transaction: int) -> None:
        """Events of the past days, written as the application."""
        progress.stage(f"writing {number:,} events")
        with psycopg.connect(self.url) as connection:
            for first in range(0, number, per_transaction):
                last = min(number, first + per_transaction) - 1
                values = {"before": span, "step": span / number, "owner": self.owner, "first": first, "last": last}
                connection.execute(_FILL, values)
                connection.commit()

    def seal(self, *, lines: int) -> int:
        """Everything, with so many anchors a batch."""
        from audit import anchors, keys
        from audit.models import Sealing
        from audit.sealing import Head, Sealer

        progress.stage("sealing")
        writer, sealer, sealed, last = anchors.Writer(self.folder, keys.signing()), Sealer.take_up(), 0, ""
        if writer.seq < 0:
            writer.write(Head(), datetime.now(UTC))
        while (number := sealer.round()) or not sealer.swept:
            sealed += number
            for _ in range(lines if number else 0):
                last = writer.write(sealer.head, datetime.now(UTC))
        Sealing.objects.update(swept=True, anchor=last, anchored_seq=sealer.head.seq)
        return sealed


def _sealed(result: Measured, chain: _Chain) -> None:
    begun = time.perf_counter()
    sealed = chain.seal(lines=50)
    result.figures["sealed_per_second"] = sealed / (time.perf_counter() - begun)
    result.bars.append(Bar("a backlog sealed", result.figures["sealed_per_second"], "events/s"))


def _checked(result: Measured, made: rig.Rig, whole: int) -> dict[str, float]:
    """The command as an auditor calls it. It has to find everything good: the control without any manipulation."""
    progress.stage(f"checking {whole:,} events")
    begun = time.perf_counter()
    command = [sys.executable, "manage.py", "verify_audit", "--json"]
    with subprocess.Popen(command, cwd=ROOT, env=made.environment, stdout=subprocess.PIPE, text=True) as child:
        said = json.loads(child.stdout.read() if child.stdout else "")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begun
    if said["verdict"] != "good" or said["links"] != said["events"] or said["events"] < whole:
        raise NotMeasured(f"an untouched chain is {said}")
    result.figures["controls_good"] = result.figures.get("controls_good", 0) + 1
    numbers = {name: float(said[name]) for name in ("links", "anchors")}
    return {**numbers, "seconds": seconds, "started": seconds - said["seconds"], "peak_mb": usage.ru_maxrss / 1024}


def _tampered(result: Measured, made: rig.Rig, folder: Path) -> None:
    """Each manipulation by a superuser whose session runs no triggers, undone after the check."""
    from audit.verifying import Asked, verify

    found, good = 0, 0
    with psycopg.connect(made.postgres.url("helicase")) as connection, connection.cursor() as cursor:
        for number in progress.counted("manipulating", range(_TAMPERED), _TAMPERED):
            tampering.switch_off(cursor)
            good += verify(cursor, folder, Asked(), now=datetime.now(UTC)).verdict == "good"
            said = tampering.ALL[number % len(tampering.ALL)](cursor, Random(number))
            seen = verify(cursor, folder, Asked(), now=datetime.now(UTC))
            found += seen.verdict == "broken"
            if seen.verdict != "broken":
                result.notes.append(f"not found: {said}")
            connection.rollback()
    if good != _TAMPERED:
        raise NotMeasured(f"{_TAMPERED - good} checks of an untouched chain were not good")
    result.figures["controls_good"] += good
    result.figures["found_of_100"] = found / _TAMPERED * 100
    kinds = ", ".join(dict.fromkeys(one.__name__ for one in tampering.ALL))
    result.notes.append(
        f"{_TAMPERED} manipulations of anchored events, drawn over {kinds}; before each, the untouched chain is good"
    )


def _writing(result: Measured, made: rig.Rig, rounds: int) -> None:
    """Sixteen writers of one laboratory, without a sealer and beside one, while another transaction of theirs stays open."""
    from supervisor.child import wait_until_gone

    beside: list[float] = []
    alone: list[float] = []
    laboratory = uuid4()
    for number in progress.counted("writing", range(rounds), rounds):
        alone.append(quantile(_round(made, laboratory), 99) * 1e3)
        made.start(f"sealer-{number}", "sealer")
        sealer = made.started[-1]
        rig.until(lambda log=sealer.log: "seals" in log.read_text(), what="the sealer")  # type: ignore[misc]
        begun = datetime.now(UTC)
        beside.append(quantile(_round(made, laboratory), 99) * 1e3)
        time.sleep(1.0)
        delays, held, window = _delays(made, laboratory, begun)
        wait_until_gone([sealer], within_s=8.0)
    result.figures |= {
        "write_p99_ms": median(beside), "write_alone_p99_ms": median(alone), "sealed_within_p99_s": quantile(delays, 99),
        "held_up_longest_s": held, "unanchored_longest_s": window,
    }  # fmt: skip
    result.bars += [
        Bar("writing an event, p99, without a sealer", median(alone), "ms"),
        Bar("writing an event, p99, beside the sealer", median(beside), "ms"),
        Bar("an event unsealed, p99", quantile(delays, 99), "s"),
        Bar("an event unanchored, longest", window, "s"),
    ]
    result.notes += [
        f"{_WRITERS} writers of {_EACH_PER_SECOND:.0f} events a second each, in one process of threads; each event in a transaction"
        f" of its own; medians of {rounds} rounds of {_SECONDS:.0f} s, without a sealer and beside it",
        f"another transaction of the laboratory, which has written an event, is open for {_OPEN[1] - _OPEN[0]:.0f} s of each round:"
        " what began after it is sealed when it ends (held_up_longest_s), what began before it at once",
        "unanchored_longest_s: from an event to the first anchor that covers it, with what the open transaction held up",
    ]


def _round(made: rig.Rig, laboratory: UUID) -> list[float]:
    """Seconds of every event written, from the beginning of its transaction to the end of its commit."""
    taken: list[list[float]] = [[] for _ in range(_WRITERS)]
    begun = time.perf_counter() + 0.2
    threads = [threading.Thread(target=_write, args=(laboratory, begun, n, taken[n])) for n in range(_WRITERS)]
    threads.append(threading.Thread(target=_stay_open, args=(made.environment["DATABASE_URL"], laboratory, begun)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for seconds in taken for one in seconds]


def _write(laboratory: UUID, begun: float, number: int, taken: list[float]) -> None:
    from django.db import connection, transaction

    from accounts.models import Organisation
    from audit.services import record
    from foundation.actor import process

    actor, obj, gap = process(f"writer {number}"), Organisation(pk=laboratory), 1 / _EACH_PER_SECOND
    connection.ensure_connection()
    at = begun + number * gap / _WRITERS
    while at < begun + _SECONDS:
        time.sleep(max(0.0, at - time.perf_counter()))
        start = time.perf_counter()
        with transaction.atomic():
            record(actor=actor, action="order.viewed", obj=obj, organisation_id=laboratory, facts={"n": len(taken)})
        taken.append(time.perf_counter() - start)
        at += gap
    connection.close()


def _stay_open(url: str, laboratory: UUID, begun: float) -> None:
    with psycopg.connect(url) as connection:
        time.sleep(max(0.0, begun + _OPEN[0] - time.perf_counter()))
        values = {"before": timedelta(0), "step": timedelta(0), "owner": laboratory, "first": 1, "last": 1}
        connection.execute(_FILL, values)
        time.sleep(max(0.0, begun + _OPEN[1] - time.perf_counter()))
        connection.commit()


def _delays(made: rig.Rig, laboratory: UUID, begun: datetime) -> tuple[list[float], float, float]:
    """Seconds from event to seal of what nothing held up, the longest of all, and the longest from event to anchor."""
    rows = _rows(made, laboratory, begun)
    if not rows:
        raise NotMeasured("the sealer sealed nothing")
    low, high = (begun + timedelta(seconds=0.2 + side) for side in (_OPEN[0] - 0.3, _OPEN[1] + 0.3))
    free = [(sealed - at).total_seconds() for at, sealed, _ in rows if not low <= at <= high]
    rig.until(lambda: _anchored(made)[-1][1] >= rows[-1][2], 30.0, "the anchor")
    lines, window, position = _anchored(made), 0.0, 0
    for at, _, seq in rows:
        while lines[position][1] < seq:
            position += 1
        window = max(window, (lines[position][0] - at).total_seconds())
    return free, max((sealed - at).total_seconds() for at, sealed, _ in rows), window


def _rows(made: rig.Rig, laboratory: UUID, begun: datetime) -> list[tuple[datetime, datetime, int]]:
    query = """
        SELECT e.at, l.sealed_at, l.seq FROM audit_event e JOIN audit_link l ON l.event_id = e.id
        WHERE e.organisation_id = %s AND e.at >= %s ORDER BY l.seq
    """
    with psycopg.connect(made.environment["DATABASE_URL"]) as connection:
        return connection.execute(query, [laboratory, begun]).fetchall()


def _anchored(made: rig.Rig) -> list[tuple[datetime, int]]:
    from audit import anchors

    folder = Path(made.environment["AUDIT_ANCHORS"])
    bodies = [json.loads(line) for _, _, line in anchors.lines(folder, anchors.sizes(folder))]
    return [(datetime.fromisoformat(body["at"]), int(body["seq"])) for body in bodies]
