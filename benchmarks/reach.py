"""`python -m benchmarks.reach [idle] [steer] [busy]`: when the engine of a real worker hears what a person decides, and how long
each stage of a STAT order takes.

Postgres, Valkey and the worker are those of the flow tests. The worker runs with a tap in its engine: a line for each request that
is submitted, reclassed, held, released or cancelled there, and for each that ended, with the time of the machine's clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DATABASE = "helicase_reach"
PATIENCE = 60.0  # seconds until something is given up
SPAN = 38.0  # seconds of one part at most: what is done by then is told
_TAP = """
import json, sys, time
from engine.engine import Engine
out = open(sys.argv.pop(1), "a", buffering=1)
def tapped(name, inner):
    def call(self, handle, *rest, **named):
        at = time.time()
        answer = inner(self, handle, *rest, **named)
        print(json.dumps([name, handle, at, int(rest[1]) if name == "submit" else 0]), file=out)
        return answer
    return call
for name in ("submit", "cancel", "reclass", "hold", "release"):
    setattr(Engine, name, tapped(name, getattr(Engine, name)))
step = Engine.step
def stepped(self):
    outcomes = step(self)
    for one in outcomes:
        print(json.dumps(["ended", one.handle, one.finished_at, one.queued_at, one.started_at]), file=out)
    return outcomes
Engine.step = stepped
import runpy
sys.argv[0] = "manage.py"
runpy.run_path("manage.py", run_name="__main__")
"""


class Tap:
    """What the worker's engine was told, as far as it has been read."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._file = path.open()
        self.lines: list[list[Any]] = []
        self._rest = ""  # of a line that is still being written

    def read(self) -> None:
        """Take in what is new."""
        *whole, self._rest = (self._rest + self._file.read()).split("\n")
        self.lines.extend(json.loads(line) for line in whole)

    def first(self, verb: str, since: float, order: Any) -> float | None:
        """When the engine first heard a verb after a moment; waits for it. None: the order's work had ended before."""

        def heard() -> float | bool | None:
            over = not running(order)
            return next((at for name, _, at, *_ in self.fresh() if name == verb and at >= since), over or None)

        found = wait(heard)
        return None if found is True else found

    def fresh(self) -> list[list[Any]]:
        """Every line until now."""
        self.read()
        return self.lines


def wait(condition: Callable[[], Any]) -> Any:
    """What `condition` gives once it gives something."""
    deadline = time.monotonic() + PATIENCE
    while (found := condition()) is None or found is False:
        if time.monotonic() > deadline:
            raise SystemExit("the worker did not answer; see its log")
        time.sleep(0.001)
    return found


@contextlib.contextmanager
def stack() -> Iterator[Tap]:
    """Services, a database of its own, and a worker that serves the bundled model."""
    from tests.services import ROOT, new_services

    services = new_services()
    os.environ.update(services.environment())
    services.start()
    import django

    django.setup()
    from tests.databases import Databases
    from tests.engine_queue.workers import DEPLOYMENT

    databases = Databases(services)
    databases.build_template()
    databases.clone(DATABASE)
    os.environ.update(databases.urls(DATABASE))
    databases.point_django_to(DATABASE)
    folder = Path(tempfile.mkdtemp(prefix="helicase-reach-"))
    (folder / "tap.py").write_text(_TAP)
    command = [sys.executable, str(folder / "tap.py"), str(folder / "tap.jsonl")]
    command += ["engine_worker", "--name", "engine-1", "--deployment", DEPLOYMENT]
    from tests.factories import make_test_version

    make_test_version()
    with (folder / "worker.log").open("wb") as log:
        worker = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=log, stderr=log)
        try:
            yield Tap(folder / "tap.jsonl")
        finally:
            worker.kill()
            worker.wait(10)
            services.stop()


class Desk:
    """Somebody who places orders and changes them."""

    def __init__(self) -> None:
        from tests.factories import make_test_version

        self._test, self._short = make_test_version(window=500), make_test_version()

    def place(self, priority: str, *, items: int, short: bool = False) -> tuple[Any, float, float]:
        """An order; when `place` was called, and when it had committed."""
        from orders import services
        from tests.factories import make_actor, make_ready_intake, make_request

        intake = make_ready_intake(test_version=self._short if short else self._test, variants=items)
        request = make_request(intake, priority=priority, stat_reason="benchmark")
        actor = make_actor(role="director", organisation=intake.ordering_organisation)
        began = time.time()
        order = services.place(actor=actor, request=request)
        return order, began, time.time()

    def someone(self, order: Any) -> Any:
        """Who may do everything with it."""
        from tests.factories import make_actor

        return make_actor(role="director", organisation=order.performing_laboratory)


def running(order: Any) -> bool:
    """Whether a job of the order is in a worker."""
    from engine_queue.models import Job

    return Job.objects.filter(run__order_id=order.pk, state="running").exists()


Figures = dict[str, list[float]]


def steered(tap: Tap, desk: Desk, count: int) -> Figures:
    """Milliseconds from the commit to the engine, for each kind of change, on a worker whose places are all taken."""
    found: Figures = {}
    load, *_ = desk.place("routine", items=count * 60)
    wait(lambda: running(load))
    began = time.monotonic()
    for number in range(count):
        if time.monotonic() - began > SPAN:
            break
        _steer(tap, desk, found, priority=("stat", "urgent")[number % 2], holds=bool(number % 2))
    return found


def _steer(tap: Tap, desk: Desk, found: Figures, *, priority: str, holds: bool) -> None:
    """One order that runs: another class, a hold and its end, and it is cancelled."""
    from orders import services, urgency

    order, *_ = desk.place("asap", items=25)
    wait(lambda: running(order))
    by = desk.someone(order)
    deeds: list[tuple[str, Callable[[], object]]] = [
        ("reclass", lambda: urgency.change_priority(order=order, priority=priority, reason="x", actor=by))
    ]
    if holds:
        deeds.append(("hold", lambda: urgency.hold(order=order, reason="hold.input", actor=by)))
        deeds.append(("release", lambda: urgency.release(order=order, actor=by)))
    deeds.append(("cancel", lambda: services.cancel(actor=by, order=order, reason="x", expected_edits=order.edits)))
    for verb, deed in deeds:
        order.refresh_from_db()
        if running(order):  # else it was faster than we are
            began = time.time()
            deed()
            committed = time.time()
            name = f"{verb} (STAT)" if verb == "cancel" and priority == "stat" else verb
            heard = tap.first(verb, began, order)
            if heard is not None:
                found.setdefault(name, []).append(max(0.0, heard - committed) * 1e3)


def stages(tap: Tap, desk: Desk, count: int) -> Figures:
    """Milliseconds from the call of `place` to each stage of a STAT order of 10 variants."""
    found: Figures = {}
    began = time.monotonic()
    for _ in range(count):
        if time.monotonic() - began > SPAN:
            break
        for name, moment in _stages(tap, desk).items():
            found.setdefault(name, []).append(moment * 1e3)
        time.sleep(0.05)
    return found


def _stages(tap: Tap, desk: Desk) -> dict[str, float]:
    from engine_queue.models import Job, Result, Run

    order, began, committed = desk.place("stat", items=10, short=True)
    run = Run.objects.get(order_id=order.pk)
    wait(lambda: Run.objects.filter(pk=run.pk, state="scored").exists())
    seen, claimed = time.time(), Job.objects.values_list("started_at", flat=True).get(run=run)
    lines = tap.fresh()
    submitted = {handle: at for verb, handle, at, *rest in lines if verb == "submit" and at >= began and rest == [0]}
    ended = [line for line in lines if line[0] == "ended" and line[1] in submitted]
    moments = {
        "committed": committed,
        "claimed": claimed.timestamp() if claimed else began,
        "submitted": min(submitted.values()),
        "first step": min(line[4] for line in ended),
        "computed": max(line[2] for line in ended),
        "written": max(Result.objects.filter(run=run).values_list("created_at", flat=True)).timestamp(),
        "seen as scored": seen,
    }
    return {name: at - began for name, at in moments.items()}


def told(title: str, found: Figures) -> None:
    """A table on standard output."""
    sys.stdout.write(f"\n{title}\n")
    for name, values in found.items():
        if values:
            last = sorted(values)[min(len(values) - 1, len(values) * 99 // 100)]
            sys.stdout.write(f"  {name:22} p50 {statistics.median(values):8.1f} ms  p99 {last:8.1f} ms  n {len(values)}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure all of it, or the parts that are named; `--quick`: a few of each."""
    count, named = 6 if "--quick" in sys.argv else 50, {"idle", "steer", "busy"} & set(sys.argv)
    with stack() as tap:
        desk = Desk()
        stages(tap, desk, 2)
        if "idle" in named or not named:
            told("STAT order of 10 variants, from the call of place, idle system", stages(tap, desk, count))
        if "steer" in named or not named:
            told("from the commit to the engine, every place of the worker taken", steered(tap, desk, count))
        if "busy" in named or not named:
            load, *_ = desk.place("routine", items=count * 60)
            wait(lambda: running(load))
            told("STAT order of 10 variants, from the call of place, every place of the worker taken", stages(tap, desk, count))


if __name__ == "__main__":
    main()
