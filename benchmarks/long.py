"""`long`: one very long score: against peers, its memory, and what short requests beside it have to wait."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Sequence

from benchmarks import agreement, alone, models, rivals, workloads
from benchmarks.comparing import OURS, Contestant, alternate, best_peer, report
from benchmarks.measured import Bar, Measured, NotMeasured, median
from benchmarks.options import Options
from benchmarks.ours import Ours, default, finished
from benchmarks.peer import Work
from engine import Generate, Score
from engine.request import Request

FULL, QUICK_TOKENS = 32_768, 65_536
_SHORTS, _QUICK_SHORTS = 24, 8


def long(options: Options) -> Measured:
    """32,768 tokens with full attention; real bases through a sliding window; short requests meanwhile."""
    title = f"Long scores: {FULL:,} tokens with full attention, a million with a sliding window"
    result = Measured("long", title, options.precision, options.rounds)
    if options.quick:
        result.notes.append(f"quick: no full attention, and {QUICK_TOKENS:,} bases in place of 1,014,726")
    else:
        _full_attention(result, options)
    _memory(result, options)
    _beside(result, options)
    return result


def _full_attention(result: Measured, options: Options) -> None:
    tokens = workloads.long(FULL)
    ours = Ours(models.folder(), default(options.precision))
    peers = rivals.chosen(options.rivals, "score", options.precision)
    with contextlib.ExitStack() as stack:
        theirs: dict[str, Contestant] = {}
        if peers:
            job = rivals.job("score", [Work(tokens)], options.precision, threads=ours.config.threads, slots=1)
            theirs = stack.enter_context(rivals.started(result, peers, job))
        everybody = {OURS: ours.contestant([Score(tokens)]), **theirs}
        found = alternate(everybody, options.rounds, agreement.sums([FULL], options.precision))
    best_peer(result, found, list(theirs), "ratio_to_best_peer_32k")
    result.figures["seconds_32k"] = found.times[OURS].median
    report(result, found, FULL, "tokens/s, full attention")


def _memory(result: Measured, options: Options) -> None:
    """Peak memory of real bases, each in a process of its own."""
    wanted: list[tuple[str, str, int | None]] = [("1mbp", "app", None)]
    if options.quick:
        wanted = [("65k", "app", QUICK_TOKENS)]
    elif options.whole:
        wanted.append(("coli", "coli", None))
    for label, source, tokens in wanted:
        try:
            found = alone.measure(source, tokens, options.precision)
        except NotMeasured as why:
            result.skip(f"peak_gb_{label}", why)
            continue
        result.figures[f"peak_gb_{label}"] = found["peak_gb"]
        result.figures[f"growth_gb_{label}"] = found["growth_gb"]
        result.figures[f"seconds_{label}"] = found["seconds"]
        name = f"ours, {found['tokens']:,} bases"
        result.bars.append(Bar(name, found["tokens"] / found["seconds"], "tokens/s, sliding window"))


def _beside(result: Measured, options: Options) -> None:
    """What a short request takes beside a long one of its class, to what it takes alone. It arrives at any time within a step."""
    ours = Ours(models.folder(models.SLIDING), default(options.precision))
    number = _QUICK_SHORTS if options.quick else _SHORTS
    for key, label in (("short_request_ratio", "score of 200"), ("short_generation_ratio", "200 and 16 more")):
        work = [workloads.short_request(place) for place in range(number)]
        requests: list[Request] = [Score(w.tokens) if key == "short_request_ratio" else Generate(w.tokens, w.limit) for w in work]
        idle = median([_waited(ours, request, since=None) for request in requests])
        try:
            busy = _busy(ours, requests)
        except NotMeasured as why:
            result.skip(key, why)
            continue
        result.figures[key] = busy / idle
        result.bars.append(Bar(f"{label}, idle", idle * 1e3, "ms for a short request"))
        result.bars.append(Bar(f"{label}, beside", busy * 1e3, "ms for a short request"))


def _busy(ours: Ours, requests: Sequence[Request]) -> float:
    """Median seconds from arrival to answer while a long score runs."""
    long_one = ours.submit(Score(workloads.long(1 << 20)))
    if early := [outcome for _ in range(3) for outcome in ours.step()]:
        raise NotMeasured(str(early[0].error))
    arrival, waited = random.Random(4), []
    for request in requests:
        begun = time.perf_counter()
        if any(outcome.handle == long_one for outcome in ours.step()):
            raise NotMeasured("the long score ended before the short ones")
        arrived = begun + arrival.random() * (time.perf_counter() - begun)
        waited.append(_waited(ours, request, since=arrived))
    ours.engine.cancel(long_one)
    while not ours.step():
        pass
    return median(waited)


def _waited(ours: Ours, request: Request, *, since: float | None) -> float:
    arrived = time.perf_counter() if since is None else since
    handle = ours.submit(request)
    while True:
        for outcome in ours.step():
            if outcome.handle == handle:
                finished(outcome)
                return time.perf_counter() - arrived
