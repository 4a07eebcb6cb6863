"""`saturation`: every single-base change of a region, in few passes to the right end against a window for each site."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import agreement, models, rivals, workloads
from benchmarks.comparing import OURS, Complaint, Contestant, Run, alternate, best_peer, report
from benchmarks.measured import Bar, Measured
from benchmarks.options import Options
from benchmarks.ours import Ours, default
from benchmarks.peer import Work
from benchmarks.workloads import BASES, Tokens
from engine import Score
from engine.request import Branch, NextToken, NextTokenResult, Request, ScoreResult, Sharing

SITES = 2_000
WINDOW = 1024  # W: a pass starts at a multiple of it and scores the sites of the second W of its tokens
BOS = models.SYMBOLS["bos"]
CENTRED = "a centred window each"
_SAMPLE, _QUICK_SAMPLE = 64, 8  # sites whose windows are computed one by one


def saturation(options: Options) -> Measured:
    """2,000 sites with three alternates each, by region passes, by centred windows, and by a peer given the same passes."""
    result = Measured("saturation", f"Saturation: every SNV of {SITES:,} sites", options.precision, options.rounds)
    contig = workloads.contig(SITES + 2 * WINDOW)
    sample = np.linspace(0, SITES - 1, _QUICK_SAMPLE if options.quick else _SAMPLE).astype(int).tolist()
    ours = Ours(models.folder(), default(options.precision))
    passes = region_passes(contig)
    scan, computed = _scan(ours, passes)
    with contextlib.ExitStack() as stack:
        theirs: dict[str, Contestant] = {}
        if peers := rivals.chosen(options.rivals, "alternatives", options.precision):
            work = [Work(tokens) for tokens in passes]
            job = rivals.job("alternatives", work, options.precision, threads=ours.config.threads, first=WINDOW + 1, ids=BASES)
            theirs = stack.enter_context(rivals.started(result, peers, job))
        everybody = {OURS: scan, CENTRED: _centred(ours, contig, sample), **theirs}
        found = alternate(everybody, options.rounds, _complaint(agreement.each(options.precision)))
    ratio = found.times[CENTRED].median / len(sample) / (found.times[OURS].median / SITES)
    result.figures |= {"tokens_per_site": max(computed) / SITES, "ratio_to_variants": ratio}
    best_peer(result, found, list(theirs), "ratio_to_peer")
    deltas = [site for flat in scan(0.0).answers for site in _deltas(flat)]
    result.figures |= _against_windows(ours, contig, sample, np.array(deltas))
    sites_each = len(sample) / found.times.pop(CENTRED).median
    report(result, found, SITES, "sites/s")
    result.bars.append(Bar(CENTRED, sites_each, "sites/s", ratio))
    result.notes.append(f"centred and exact windows for {len(sample)} of the {SITES:,} sites, windows of {WINDOW:,} tokens")
    return result


def region_passes(contig: Tokens) -> list[Tokens]:
    """Passes over the sites from WINDOW on: each has the WINDOW tokens before the sites it scores, and then those, after bos."""
    last = WINDOW + SITES
    return [(BOS, *contig[at - WINDOW : min(at + WINDOW, last)]) for at in range(WINDOW, last, WINDOW)]


def _scan(ours: Ours, passes: Sequence[Tokens]) -> tuple[Contestant, list[int]]:
    """One request a pass, and the tokens that each round computed."""
    computed: list[int] = []
    requests = [Score(tokens, alternatives=BASES, alternatives_from=WINDOW + 1) for tokens in passes]

    def run(_within: float) -> Run:
        before = int(ours.engine.stats()["tokens"])
        begun, worked = time.perf_counter(), time.process_time()
        outcomes = ours.run(requests)
        seconds, cores = time.perf_counter() - begun, time.process_time() - worked
        computed.append(int(ours.engine.stats()["tokens"]) - before)
        results = [outcome.result for outcome in outcomes]
        return Run(seconds, [tuple(found.alternatives) for found in results if isinstance(found, ScoreResult)], cores)

    return run, computed


def _centred(ours: Ours, contig: Tokens, sample: Sequence[int]) -> Contestant:
    """The window around each site of the sample and its three alternates, as variants are scored."""
    rounds = itertools.count()

    def run(_within: float) -> Run:
        sharing = Sharing("laboratory", f"round {next(rounds)}")
        requests: list[Request] = []
        for site in sample:
            window = contig[WINDOW // 2 + site : WINDOW // 2 + site + WINDOW]
            at = WINDOW // 2
            changes = (Branch(at, (base, *window[at + 1 :])) for base in BASES if base != window[at])
            requests += [Score(window, sharing), *(Score(window, sharing, change) for change in changes)]
        begun, worked = time.perf_counter(), time.process_time()
        ours.run(requests)
        return Run(time.perf_counter() - begun, (), time.process_time() - worked)

    return run


def _against_windows(ours: Ours, contig: Tokens, sample: Sequence[int], scanned: Any) -> dict[str, float]:
    """The scan's differences log P(base) − log P(reference base) held against those of windows that end at the site."""
    outcomes = ours.run([NextToken((BOS, *contig[site : site + WINDOW]), BASES) for site in sample])
    exact = [list(outcome.result.logprobs) for outcome in outcomes if isinstance(outcome.result, NextTokenResult)]
    own = [BASES.index(contig[WINDOW + site]) for site in sample]
    expected = np.array([[value - row[mine] for value in row] for row, mine in zip(exact, own, strict=True)])
    chosen = scanned[sample]
    got = chosen - chosen[np.arange(len(sample)), own][:, None]
    changed = np.ones_like(got, dtype=bool)
    changed[np.arange(len(sample)), own] = False
    return {"max_abs_delta": float(np.abs(got - expected)[changed].max()), "spearman": spearman(got[changed], expected[changed])}


def spearman(one: Any, other: Any) -> float:
    """Rank correlation of values without ties."""
    first, second = (np.argsort(np.argsort(values)) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])


def _deltas(flat: Sequence[float]) -> list[list[float]]:
    """Log-probabilities of the four bases, site by site."""
    return [list(flat[at : at + len(BASES)]) for at in range(0, len(flat), len(BASES))]


def _complaint(tolerant: Complaint) -> Complaint:
    """Peers get the same passes; centred windows are another protocol, and nothing of theirs need be equal."""
    return lambda name, mine, theirs: "" if name == CENTRED else tolerant(name, mine, theirs)
