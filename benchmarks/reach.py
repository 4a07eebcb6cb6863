"""`reach`: how long after its commit a decision about an order has reached all its requests in the engine of a real worker, whose
places are all taken; and how long each stage of a STAT order takes there and on an idle one.

The engine writes down when it was told what (`benchmarks.tap`), by the clock of the machine.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from benchmarks import progress, rig, tap
from benchmarks.laboratory import Laboratory
from benchmarks.measured import Bar, Measured, NotMeasured, quantile
from benchmarks.options import Options

DEPLOYMENT = "ecoli-orf-2k-fp32"  # comes with Helicase
DECISIONS = ("promote", "demote", "hold", "release", "cancel", "promote_stat", "demote_stat", "cancel_stat")  # to STAT, or of it
_ASKED, _QUICK = 50, 5  # of each decision at least, and STAT orders on the idle and on the busy worker
_LONGEST = 150.0  # seconds for all decisions: whoever has not been measured by then is not
_WINDOW, _SHORT = 1900, 64  # bases: of orders that compute for as long as they are steered, and of those that are timed
_STEERED, _TIMED, _LOAD = 25, 10, 2000  # variants: an order of one job, a STAT order, routine work for all the while
_PLACES = 8  # that a worker has for routine jobs
_SHARES = (50, 99)

Found = dict[str, list[float]]  # milliseconds
Deed = tuple[str, Callable[[], object]]  # the word for it in the engine


def reach(options: Options) -> Measured:
    """Each decision on orders that compute, beside routine jobs in every place; the bundled model, float32."""
    count = _QUICK if options.quick else _ASKED
    result = Measured("reach", "From the commit of a decision to the engine, every place of the worker taken", "fp32", 1)
    progress.stage("setting up a platform")
    with rig.rig() as made:
        desk = _Desk(made)
        for _ in range(2):
            desk.stages()  # nobody's first order is measured
        idle = _collect(desk, count, "STAT orders, idle")
        desk.fill()
        progress.stage(f"decisions, every place taken, for up to {_LONGEST:.0f} s")
        decided = desk.decided(count)
        busy = _collect(desk, count, "STAT orders, every place taken")
        desk.still_full()
        made.looked_after()
    for name in DECISIONS:
        _tell(result, name, decided[name], "ms from commit to engine")
        result.figures[f"{name}_count"] = len(decided[name])
    for beside, stages in (("idle", idle), ("busy", busy)):
        for stage, values in stages.items():
            _tell(result, f"stat_{beside}" if stage == "seen" else f"{beside}, {stage}", values, "ms from place", stage == "seen")
    result.notes.append(f"{count} STAT orders of {_TIMED} variants on the idle and on the busy worker")
    result.notes.append("of fewer than 100 values p99 is the largest")
    return result


def _tell(result: Measured, name: str, values: list[float], unit: str, figure: bool = True) -> None:
    for share in _SHARES:
        if values:
            result.bars.append(Bar(f"{name}, p{share}", quantile(values, share), unit))
        if values and figure:
            result.figures[f"{name}_p{share}_ms"] = quantile(values, share)


def _collect(desk: _Desk, count: int, words: str) -> Found:
    found: Found = {}
    for _ in progress.counted(words, range(count), count):
        for stage, moment in desk.stages().items():
            found.setdefault(stage, []).append(moment * 1e3)
    return found


class Told:
    """What the worker's engine wrote down, as far as it has been read."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.path, self._at, self._rest = path, 0, ""  # the rest is that of a line that is still being written
        self.lines: list[list[Any]] = []
        self.ended: set[int] = set()

    def read(self) -> int:
        """Take in what is new; how many lines there are."""
        with self.path.open() as file:
            file.seek(self._at)
            *whole, self._rest = (self._rest + file.read()).split("\n")
            self._at = file.tell()
        fresh = [json.loads(line) for line in whole]
        self.lines += fresh
        self.ended |= {handle for verb, handle, *_ in fresh if verb == tap.ENDED}
        return len(self.lines)

    def stat(self, mark: int) -> dict[int, float]:
        """STAT requests that were submitted since that line, and when."""
        self.read()
        return {handle: at for verb, handle, at, rank in self.lines[mark:] if verb == "submit" and rank == 0}

    def reached(self, verb: str, mark: int, live: Collection[int]) -> float | None:
        """When the last of these requests heard a verb after that line; waits for it. None: all of them had ended before."""
        heard: dict[int, float] = {}

        def over() -> bool:
            self.read()
            for name, handle, at, _ in self.lines[mark:]:
                if name == verb and handle in live:
                    heard.setdefault(handle, at)
            return all(handle in heard or handle in self.ended for handle in live)

        rig.until(over, what=f"a {verb} in the engine", pause=0.005)
        return max(heard.values(), default=None)


class _Desk(Laboratory):
    """Somebody who places orders and decides about them."""

    def __init__(self, made: rig.Rig) -> None:
        super().__init__(made, DEPLOYMENT)
        lines = made.folder / "told.jsonl"
        self._told, self._moments, self._uploads = Told(lines), random.Random(6), 0
        self.offer("long", window=_WINDOW)
        self.offer("short", window=_SHORT)
        self.serve(script=("-m", "benchmarks.tap", str(lines)))

    def fill(self) -> None:
        """Give the worker routine work for every place, and for as long as it will be measured."""
        from engine_queue.models import Job

        self._load = self._placed("long", _LOAD, "routine")
        rig.until(lambda: Job.objects.filter(state="running").count() >= _PLACES, what="a worker that is full")

    def still_full(self) -> None:
        """Raises NotMeasured when the routine work has ended."""
        from engine_queue.models import Job

        if Job.objects.filter(run__order_id=self._load.pk, state="running").count() < _PLACES:
            raise NotMeasured("the routine work came to an end while it was measured")

    def decided(self, count: int) -> Found:
        """Milliseconds from the commit until the last request of the order has heard, `count` or more of each decision."""
        found: Found = {name: [] for name in DECISIONS}
        until = time.monotonic() + _LONGEST
        while min(map(len, found.values())) < count and time.monotonic() < until:
            self._life(found)
        return found

    def _life(self, found: Found) -> None:
        """A STAT order, so that it runs at once: other classes, a hold and its end, a cancellation; each second ends as STAT."""
        from orders import services, urgency

        mark = self._told.read()
        order, by = self._placed("long", _STEERED, "stat"), self.actor
        rig.until(lambda: self._told.stat(mark), what="a STAT order in the engine")

        def to(priority: str) -> Deed:
            return "reclass", lambda: urgency.change_priority(order=order, priority=priority, reason="x", actor=by)

        deeds: dict[str, Deed] = {
            "demote_stat": to("asap"),
            "demote": to("urgent"),
            "promote": to("asap"),
            "hold": ("hold", lambda: urgency.hold(order=order, reason="hold.input", actor=by)),
            "release": ("release", lambda: urgency.release(order=order, actor=by)),
        }
        end: Deed = ("cancel", lambda: services.cancel(actor=by, order=order, reason="x", expected_edits=order.edits))
        as_stat = len(found["cancel_stat"]) < len(found["cancel"])
        deeds |= {"promote_stat": to("stat"), "cancel_stat": end} if as_stat else {"cancel": end}
        for name, (verb, deed) in deeds.items():
            time.sleep(self._moments.uniform(0.03, 0.1))  # at no particular moment of a step
            live = self._told.stat(mark).keys() - self._told.ended
            if not live:
                return  # it was faster than we are
            order.refresh_from_db()
            since = self._told.read()
            committed = _committed(deed)
            heard = self._told.reached(verb, since, live)
            if heard is not None:
                found[name].append(max(0.0, heard - committed) * 1e3)

    def stages(self) -> dict[str, float]:
        """Seconds from the call of `place` to each stage of a STAT order."""
        from engine_queue.models import Job, Result, Run

        intake, mark = self._ready("short", _TIMED), self._told.read()
        began = time.time()
        order = self.place(intake, "stat")
        committed = time.time()
        run = Run.objects.get(order_id=order.pk)
        rig.until(Run.objects.filter(pk=run.pk, state="scored").exists, what="a STAT order", pause=0.001)
        seen, claimed = time.time(), Job.objects.get(run=run).started_at
        submitted = self._told.stat(mark)
        ended = [line for line in self._told.lines[mark:] if line[0] == tap.ENDED and line[1] in submitted]
        if claimed is None or not ended:
            raise NotMeasured("a STAT order was scored and the engine heard nothing of it")
        moments = {
            "committed": committed,
            "claimed": claimed.timestamp(),
            "submitted": min(submitted.values()),
            "first step": min(line[3] for line in ended),
            "computed": max(line[2] for line in ended),
            "written": max(Result.objects.filter(run=run).values_list("created_at", flat=True)).timestamp(),
            "seen": seen,
        }
        return {name: at - began for name, at in moments.items()}

    def _placed(self, test: str, variants: int, priority: str) -> Any:
        return self.place(self._ready(test, variants), priority)

    def _ready(self, test: str, variants: int) -> Any:
        self._uploads += 1
        return self.ready(self.variants(test, self._uploads, variants))


def _committed(deed: Callable[[], object]) -> float:
    """Do it in a transaction; when that had committed, and nothing that follows the commit had been done yet."""
    from django.db import transaction

    moments: list[float] = []
    with transaction.atomic():
        transaction.on_commit(lambda: moments.append(time.time()))
        deed()
    return moments[0]
