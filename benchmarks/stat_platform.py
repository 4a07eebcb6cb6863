"""`stat-platform`: from `place` to scored, for STAT orders of fifty variants, through the whole platform, idle and beside a load
that never ends: real Postgres, real broker, the worker processes of `make up`.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks import models, progress, rig, workloads
from benchmarks.laboratory import Laboratory, Upload
from benchmarks.measured import Bar, Measured, quantile
from benchmarks.options import Options

_ASKED, _QUICK = 300, 12  # STAT orders under load; a third of them on the idle platform first
_VARIANTS = 50  # of a STAT order
_WINDOW = 64  # bases
_GAP = 1.0  # seconds on average between the end of one STAT order and the next
_OPEN = 4  # routine orders of W1's lengths that are open at any time, beside the long one
_PATIENCE = 120.0  # seconds until an order is given up
_LOOK = 0.005  # seconds between two looks at whether an order is scored
_DEPLOYMENT = "dna-small-sw-bf16"
_SHARES = (50, 99)


def stat_platform(options: Options) -> Measured:
    """Fifty variants, STAT, beside W1's lengths again and again and a sequence of a million bases; sliding-window model, bf16."""
    asked = _QUICK if options.quick else _ASKED
    result = Measured("stat-platform", f"STAT orders of {_VARIANTS} variants through the whole platform", "bf16", 1)
    progress.stage("setting up a platform")
    with rig.rig() as made:
        laboratory = _Bench(made, options)
        progress.stage("uploading and checking the orders")
        idle_orders = [laboratory.ready(laboratory.stat(number)) for number in range(max(4, asked // 3))]
        orders = [laboratory.ready(laboratory.stat(number)) for number in range(asked)]
        for intake in (laboratory.ready(laboratory.stat(10_000 + number)) for number in range(2)):
            laboratory.scored(intake)  # nobody's first order is measured
        idle = [laboratory.scored(intake) for intake in progress.counted("STAT orders, idle", idle_orders, len(idle_orders))]
        with laboratory.load():
            moments = random.Random(5)
            busy = []
            for intake in progress.counted("STAT orders, beside the load", orders, len(orders)):
                time.sleep(moments.expovariate(1 / _GAP))
                busy.append(laboratory.scored(intake))
                made.looked_after()
        _tell(result, laboratory, idle, busy)
    return result


def _tell(result: Measured, laboratory: _Bench, idle: Sequence[_Scored], busy: Sequence[_Scored]) -> None:
    for share in _SHARES:
        alone, beside = (quantile([one.seconds for one in those], share) for those in (idle, busy))
        result.bars.append(Bar(f"idle, p{share}", alone * 1e3, "ms from place to scored"))
        result.bars.append(Bar(f"under load, p{share}", beside * 1e3, "ms from place to scored"))
        result.figures[f"p{share}_ratio"] = beside / alone
    result.figures["p99_seconds"] = quantile([one.seconds for one in busy], 99)
    result.figures["stat_orders"] = len(busy)
    result.figures["bit_differences"] = sum(one.deltas != other.deltas for one, other in zip(idle, busy, strict=False))
    result.figures["routine_orders_scored"] = laboratory.ended
    result.figures["long_orders_scored"] = laboratory.long_ended
    result.notes.append(f"{len(idle)} orders idle, {len(busy)} under load; those that both had are compared bit for bit")
    result.notes.append(
        f"load: {_OPEN} routine orders of 64 sequences with W1 lengths open at any time, one of {laboratory.long_bases:,} bases"
    )


@dataclasses.dataclass(frozen=True)
class _Scored:
    seconds: float
    deltas: tuple[float, ...]


class _Bench(Laboratory):
    """With two tests on the sliding-window model, and the load."""

    def __init__(self, made: rig.Rig, options: Options) -> None:
        super().__init__(made, _DEPLOYMENT)
        model = ("--name", "dna-small-sw", "--deployment", _DEPLOYMENT, "--precision", "bf16")
        made.manage("register_model", str(models.folder(models.SLIDING)), *model, *self.by)
        self._longs, self.ended, self.long_ended = itertools.count(1), 0, 0
        self.long_bases = 262_144 if options.quick else 1_014_726
        self.offer("variants", window=_WINDOW)
        self.offer("sequences", window=_WINDOW, accepts="fasta")
        self.serve()

    def stat(self, number: int) -> Upload:
        """What a STAT order asks for."""
        return self.variants("variants", number, _VARIANTS)

    def sequences(self, number: int) -> Upload:
        """A FASTA with the lengths of W1, prompt and output together."""
        drawn = random.Random(number)
        lengths = [len(piece.tokens) + piece.limit for piece in workloads.mixed()]
        return "sequences", "".join(f">s{n}\n{''.join(drawn.choices('ACGT', k=length))}\n" for n, length in enumerate(lengths))

    def long(self) -> Upload:
        return "sequences", f">long{next(self._longs)}\n{self.bases[: self.long_bases].replace('N', 'A')}\n"

    def scored(self, intake: Any) -> _Scored:
        """Place a STAT order and wait until everybody can see it scored."""
        from engine_queue.models import Result, Run

        begun = time.perf_counter()
        order = self.place(intake, "stat")
        runs = Run.objects.filter(order_id=order.pk, state="scored")
        rig.until(runs.exists, _PATIENCE, "a STAT order", pause=_LOOK)
        seconds = time.perf_counter() - begun
        deltas = Result.objects.filter(run__order_id=order.pk).order_by("item__ordinal").values_list("delta", flat=True)
        return _Scored(seconds, tuple(deltas))

    def load(self) -> _Load:
        """Routine work without end, until the block is left."""
        return _Load(self)


class _Load:
    """A thread that places routine orders again and again, so that never fewer than `_OPEN` of them and a long one are open."""

    def __init__(self, laboratory: _Bench) -> None:
        self._laboratory, self._over, self._full = laboratory, threading.Event(), threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> _Load:
        self._placing = self._pool.submit(self._go_on)
        rig.until(lambda: self._full.is_set() or self._placing.done(), what="the load")
        time.sleep(3.0)  # the engine is busy with it by then
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._placing.result(_PATIENCE)  # raises what it raised

    def _go_on(self) -> None:
        from django.db import connections

        try:
            self._keep_open()
        finally:
            connections.close_all()

    def _keep_open(self) -> None:
        from engine_queue.models import Run

        one, short, longs = self._laboratory, [], []
        for number in itertools.count():
            if self._over.is_set():
                return
            done = set(Run.objects.filter(order_id__in=[*short, *longs], state="scored").values_list("order_id", flat=True))
            one.ended, one.long_ended = one.ended + len(done.intersection(short)), one.long_ended + len(done.intersection(longs))
            short, longs = [pk for pk in short if pk not in done], [pk for pk in longs if pk not in done]
            if not longs:
                longs.append(one.place(one.ready(one.long()), "routine").pk)
            elif len(short) < _OPEN:
                short.append(one.place(one.ready(one.sequences(number)), "routine").pk)
            else:
                self._full.set()
                self._over.wait(0.2)
