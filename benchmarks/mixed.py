"""`mixed` and `mixed-long`: generation for requests of very different lengths, continuous against static batching and peers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

from benchmarks import agreement, floor, memory, models, rivals, workloads
from benchmarks.comparing import OURS, Comparison, Complaint, Contestant, Run, alternate, best_peer, report, same_bits
from benchmarks.measured import Measured, NotMeasured
from benchmarks.options import Options
from benchmarks.ours import BATCHES, Ours, default, generation, static
from benchmarks.peer import PeerLate, Precision, Work
from benchmarks.stub import Stub
from engine import EngineConfig

ARRIVAL, SORTED = "static, by arrival", "static, by prompt"
QUICK = 24  # requests of the quick run: the first of the workload


def mixed(options: Options) -> Measured:
    """64 requests, outputs up to 256 tokens."""
    work = workloads.mixed()
    title = "Mixed generation: 64 requests, prompts 10–2,000, outputs 8–256"
    return _measure("mixed", title, work, options, tried=not options.quick)


def mixed_long(options: Options) -> Measured:
    """256 requests, outputs up to 1,024 tokens."""
    work = workloads.mixed_long()
    title = "Mixed generation, long answers: 256 requests, prompts 10–2,000, outputs 8–1,024"
    return _measure("mixed-long", title, work, options, tried=False)


def _measure(name: str, title: str, work: Sequence[Work], options: Options, *, tried: bool) -> Measured:
    result = Measured(name, title, options.precision, options.rounds)
    whole = work
    if options.quick:
        work = work[:QUICK]
        result.notes.append(f"quick: the first {len(work)} requests of the workload")
    config, wanted = default(options.precision), generation(work)
    ours = Ours(models.folder(), config)
    watch = memory.Watch(ours.engine, config, memory.longest(work, config))
    before = ours.engine.stats()["idle_slot_steps"]
    baselines = _baselines(result, work, options, tried=tried)
    peers = rivals.chosen(options.rivals, "generate", options.precision)
    with contextlib.ExitStack() as stack:
        theirs: dict[str, Contestant] = {}
        if peers:
            job = rivals.job("generate", work, options.precision, threads=config.threads, slots=config.slots)
            theirs = stack.enter_context(rivals.started(result, peers, job))
        everybody = {OURS: _watched(ours, watch, ours.contestant(wanted)), **baselines, **theirs}
        found = alternate(everybody, options.rounds, _complaint(ours, work, options.precision))
    watch.report(result)
    result.figures["idle_slot_steps"] = ours.engine.stats()["idle_slot_steps"] - before
    result.figures["concurrency_ratio"] = memory.concurrency(whole, config)
    _ratios(result, found, list(theirs), options.precision)
    _floor(result, found, work, config, options.precision)
    report(result, found, sum(piece.limit for piece in work), "output tokens/s")
    return result


def _watched(ours: Ours, watch: memory.Watch, run: Contestant) -> Contestant:
    """Watch the memory while it runs, and not when answers are looked into."""

    def watched(within: float) -> Run:
        ours.between = watch
        try:
            return run(within)
        finally:
            ours.between = None

    return watched


def _complaint(ours: Ours, work: Sequence[Work], precision: Precision) -> Complaint:
    """The same bits from the baselines, near-ties from peers."""
    tolerant = agreement.greedy(ours, work, precision)

    def complaint(name: str, mine: Sequence[Any], theirs: Sequence[Any]) -> str:
        return (same_bits if name in (ARRIVAL, SORTED) else tolerant)(name, mine, theirs)

    return complaint


def _baselines(result: Measured, work: Sequence[Work], options: Options, *, tried: bool) -> dict[str, Contestant]:
    """Static batching in arrival order and sorted by prompt, each in its best batch size."""
    by_prompt = sorted(range(len(work)), key=lambda place: len(work[place].tokens))
    found = {}
    for label, order in ((ARRIVAL, range(len(work))), (SORTED, by_prompt)):
        seconds = {batch: _estimate(work, order, options.precision, batch) for batch in BATCHES}
        how = "estimated"
        if tried:
            seconds, how = _trials(work, order, options.precision, sorted(BATCHES, key=seconds.__getitem__)), "tried"
        batch = min(seconds, key=seconds.__getitem__)
        result.settings[label] = {"batch": batch, f"seconds {how}": {size: round(took, 1) for size, took in seconds.items()}}
        found[label] = Ours(models.folder(), static(options.precision, batch, work)).contestant(generation(work), order)
    return found


def _trials(work: Sequence[Work], order: Sequence[int], precision: Precision, batches: Sequence[int]) -> dict[int, float]:
    """Seconds of one static run in each batch size; who takes longer than the best so far is stopped and left out."""
    found: dict[int, float] = {}
    for batch in batches:
        run = Ours(models.folder(), static(precision, batch, work)).contestant(generation(work), order)
        with contextlib.suppress(PeerLate):
            found[batch] = run(min(found.values(), default=math.inf)).seconds
    return found


def _estimate(work: Sequence[Work], order: Sequence[int], precision: Precision, batch: int) -> float:
    """Seconds of the static baseline: its rows over the rate of matrix products, and the weights read once a step."""
    config, sizes = static(precision, batch, work), list[int]()
    wanted = generation(work)
    Stub(config).run([wanted[place] for place in order], lambda step: sizes.append(step.tokens))
    weights = models.SMALL.parameters * (4 if precision == "fp32" else 2)
    return floor.seconds(sum(sizes), precision, config.threads) + len(sizes) * weights / floor.read_bandwidth(config.threads)


def _ratios(result: Measured, found: Comparison, peers: Sequence[str], precision: Precision) -> None:
    for label, key in ((ARRIVAL, "ratio_to_static_arrival"), (SORTED, "ratio_to_static_best")):
        if found.measured(label):
            result.figures[key] = found.ratio(label)
        else:
            result.skip(key, found.times[label].fault)
    if result.name == "mixed":
        best_peer(result, found, peers, f"ratio_to_best_peer_{precision}")
    if peers:
        result.notes.append(
            f"peers: where ids part from ours they may be {agreement.NEAR_TIE[precision]} nats less likely on average"
        )


def _floor(result: Measured, found: Comparison, work: Sequence[Work], config: EngineConfig, precision: Precision) -> None:
    key = f"fraction_of_floor_{precision}"
    try:
        least = floor.seconds(sum(len(piece.tokens) + piece.limit for piece in work), precision, config.threads)
    except NotMeasured as why:
        return result.skip(key, why)
    result.figures[key] = least / found.times[OURS].median
    rate = floor.gemm(precision, config.threads) / 1e9
    result.notes.append(f"floor: {least:.2f} s at {rate:.0f} GFLOP/s, the best product of 512 rows in this call")
    return None
