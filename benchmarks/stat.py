"""`stat`: what somebody waits who asks for STAT at a random moment of an engine that is never idle, with freezing and without."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
import timeit
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks import models, progress, workloads
from benchmarks.measured import Bar, Measured, NotMeasured, median, quantile
from benchmarks.options import Options
from benchmarks.ours import answer, default, finished
from benchmarks.peer import Work
from engine import EngineConfig, EngineLoop, Generate, Priority, Score

if TYPE_CHECKING:
    from engine import Outcome

_ASKED, _QUICK = 300, 24  # STAT requests of each run
_GAP = 0.5  # seconds on average between the end of one and the next
_LONG, _QUICK_LONG = 1 << 20, 1 << 18  # tokens of the score that runs meanwhile
_PATIENCE = 60.0  # seconds until an answer is given up
_PASSES, _QUICK_PASSES, _PIECE = 20, 3, 1 << 15  # over the same routine work, with and without STAT; tokens of its long score
_EVERY = 1.0  # seconds between two STAT requests while the loss is measured
_READS = 200_000


def stat(options: Options) -> Measured:
    """A prompt of 200 tokens that wants 16, beside W1 repeated and a long score, sliding-window model."""
    result = Measured("stat", "STAT beside a saturating load: 200 tokens and 16 more", options.precision, 1)
    asked = [workloads.short_request(number) for number in range(_QUICK if options.quick else _ASKED)]
    config = default(options.precision)
    with _Engine(config) as engine:
        idle, alone = engine.waits(asked, "idle")
        engine.load(options)
        busy, beside = engine.waits(asked, "beside the load")
        stats = engine.loop.stats()
    with _Engine(config) as engine:
        lost, share = engine.loss(_QUICK_PASSES if options.quick else _PASSES, idle)
    with _Engine(dataclasses.replace(config, freezes=0)) as engine:
        engine.load(options)
        unfrozen, _ = engine.waits(asked, "beside the load, freezes=0")
    result.figures["bit_differences"] = sum(one != other for one, other in zip(alone, beside, strict=True))
    result.figures["layer_check_us"] = _check()
    result.figures["routine_loss"] = lost - share
    result.notes.append(f"one STAT request a second: routine work lost {lost:.3f}, an idle engine would be busy {share:.3f}")
    for name in ("layers_until_start", "layers_behind_stat", "capped_starts", "freezes", "abandoned_passes"):
        result.figures[name] = stats[name]
    for label, waits, prefix in (("idle", idle, ""), ("freezing", busy, "stat"), ("freezes=0", unfrozen, "unfrozen")):
        for share in (50, 99):
            value = quantile(waits, share)
            result.bars.append(Bar(f"{label}, p{share}", value * 1e3, "ms from submit to answer"))
            if prefix:
                result.figures[f"{prefix}_p{share}_ratio"] = value / quantile(idle, share)
    result.notes.append(f"{len(asked)} requests each; the load is W1 again and again and one score, the queue never empty")
    return result


def _check() -> float:
    """Microseconds that the look at the signal after each layer takes when nothing changed."""
    from engine.batch import Signal

    signal = Signal()
    names = {"signal": signal, "stoppable": True}
    both = min(timeit.repeat("stoppable and signal.raised; signal.layers += 1", globals=names, number=_READS, repeat=5))
    return both / _READS * 1e6


class _Engine:
    """A loop of its own, and the load that is put on it."""

    def __init__(self, config: EngineConfig) -> None:
        from engine import load

        self.loop = EngineLoop(load(models.folder(models.SLIDING), config=config))
        self._moments, self._over = random.Random(4), False

    def __enter__(self) -> _Engine:
        self.loop.start()
        self.waits([workloads.short_request(1000 + number) for number in range(3)], "warming up")
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self.loop.stop(drain=False, timeout=_PATIENCE)

    def load(self, options: Options) -> None:
        """Keep it busy from now on: whoever has ended comes again."""
        self._routine(Score(workloads.long(_QUICK_LONG if options.quick else _LONG)))
        for piece in workloads.mixed():
            self._routine(Generate(piece.tokens, piece.limit))
        time.sleep(3.0)

    def _routine(self, request: Score | Generate) -> None:
        def again(outcome: Outcome) -> None:
            if not self._over:
                finished(outcome)
                self._routine(request)

        self.loop.submit(request, priority=Priority.ROUTINE, on_outcome=again)

    def waits(self, asked: Sequence[Work], how: str) -> tuple[list[float], list[object]]:
        """Seconds of each from `submit` to its outcome, one after the other at random moments; and the answers."""
        seconds, answers = [], []
        for piece in progress.counted(f"STAT, {how}", asked, len(asked)):
            time.sleep(self._moments.expovariate(1 / _GAP) if self._loading else 0.0)
            took, outcome = self._asked(Generate(piece.tokens, piece.limit))
            seconds.append(took)
            answers.append(answer(finished(outcome)))
        return seconds, answers

    def loss(self, passes: int, idle: Sequence[float]) -> tuple[float, float]:
        """The share of time that one STAT request a second takes from the same routine work, over passes with and without in turn;
        and the share of it that such requests keep an idle engine busy.
        """
        without = beside = 0.0
        count = 0
        for number in progress.counted("routine work with STAT and without", range(passes), passes):
            without += self._pass([])[0]
            seconds, came = self._pass([workloads.short_request(2000 + number * 100 + one) for one in range(100)])
            beside, count = beside + seconds, count + came
        return 1 - without / beside, count * median(idle) / beside

    def _pass(self, asked: Sequence[Work]) -> tuple[float, int]:
        """Seconds for W1 and a piece of the long score while these STAT requests come, one a second; and how many of them came."""
        pieces = [Generate(piece.tokens, piece.limit) for piece in workloads.mixed()]
        work, over, ended = [Score(workloads.long(_PIECE)), *pieces], threading.Event(), []

        def one_less(outcome: Outcome) -> None:
            ended.append(finished(outcome))
            if len(ended) == len(work):
                over.set()

        begun, came = time.perf_counter(), 0
        for request in work:
            self.loop.submit(request, priority=Priority.ROUTINE, on_outcome=one_less)
        for piece in asked:
            if over.wait(max(0.0, begun + (came + 0.5) * _EVERY - time.perf_counter())):
                break
            self._asked(Generate(piece.tokens, piece.limit))
            came += 1
        if not over.wait(_PATIENCE):
            raise NotMeasured("routine work did not end")
        return time.perf_counter() - begun, came

    @property
    def _loading(self) -> bool:
        return self.loop.engine.scheduler.running > 0

    def _asked(self, request: Generate) -> tuple[float, Outcome]:
        there, found = threading.Event(), []

        def ended(outcome: Outcome) -> None:
            found.append((time.perf_counter(), outcome))
            there.set()

        begun = time.perf_counter()
        self.loop.submit(request, priority=Priority.STAT, on_outcome=ended)
        if not there.wait(_PATIENCE):
            raise NotMeasured("a STAT request did not end")
        ((at, outcome),) = found
        return at - begun, outcome
