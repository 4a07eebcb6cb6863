"""`saturation`: every single-base change of a region, by a region scan against a centred window for each."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import engine
from benchmarks import agreement, models, rivals, workloads
from benchmarks.comparing import OURS, Complaint, Contestant, Run, alternate, best_peer, report
from benchmarks.measured import Bar, Measured
from benchmarks.options import Options
from benchmarks.ours import Ours, default
from benchmarks.peer import Work
from engine import Protocol, Tokenizer, Variant
from engine.protocols import BASES, RegionPlan, VariantPlan
from engine.request import REFERENCE, Request, ScoreResult, Sharing

SITES = 2_000
WINDOW = 1024  # the scan reads a site with a context of one to two of these; the windows of its neighbours have as many bases
CENTRED = "a centred window each"
_SAMPLE, _QUICK_SAMPLE = 64, 8  # sites whose windows are computed one by one


@dataclass(frozen=True, slots=True)
class Region:
    """A contig whose sites from WINDOW on are to be saturated, and how ours reads it."""

    contig: str
    tokenizer: Tokenizer

    def fetch(self, start: int, end: int) -> str:
        """Bases, 0-based, end excluded."""
        return self.contig[start:end]

    def scan(self, sharing: Sharing = REFERENCE) -> RegionPlan:
        """The passes over all sites."""
        protocol = Protocol("region-scan", WINDOW)
        length = len(self.contig)
        return engine.plan_region(protocol, length, WINDOW, WINDOW + SITES, self.fetch, self.tokenizer, sharing=sharing)

    def variants(self, protocol: Protocol, sites: Sequence[int], sharing: Sharing = REFERENCE) -> Iterator[VariantPlan]:
        """The three changes of each site, one by one."""
        for site in sites:
            reference = self.contig[WINDOW + site]
            for alternate_base in BASES.replace(reference, ""):
                variant = Variant(len(self.contig), WINDOW + site + 1, reference, alternate_base)
                yield engine.plan_variant(protocol, variant, self.fetch, self.tokenizer, sharing=sharing)


def saturation(options: Options) -> Measured:
    """2,000 sites with three alternates each: scanned, centred for a sample of them, and by peers given the same passes."""
    result = Measured("saturation", f"Saturation: every SNV of {SITES:,} sites", options.precision, options.rounds)
    sample = np.linspace(0, SITES - 1, _QUICK_SAMPLE if options.quick else _SAMPLE).astype(int).tolist()
    ours = Ours(models.folder(), default(options.precision))
    region = Region(workloads.contig(SITES + 2 * WINDOW), ours.engine.tokenizer)
    scan, computed = _scanned(ours, region)
    with contextlib.ExitStack() as stack:
        theirs: dict[str, Contestant] = {}
        if peers := rivals.chosen(options.rivals, "alternatives", options.precision):
            passes = region.scan().requests
            work = [Work(request.tokens) for request in passes]
            asked = {"first": passes[0].alternatives_from, "ids": passes[0].alternatives}
            job = rivals.job("alternatives", work, options.precision, threads=ours.config.threads, **asked)  # type: ignore[arg-type]
            theirs = stack.enter_context(rivals.started(result, peers, job))
        everybody = {OURS: scan, CENTRED: _centred(ours, region, sample), **theirs}
        found = alternate(everybody, options.rounds, _complaint(agreement.each(options.precision)))
    each = found.times.pop(CENTRED).median / len(sample)
    result.figures["tokens_per_site"] = max(computed) / SITES
    result.figures["ratio_to_variants"] = each / (found.times[OURS].median / SITES)
    best_peer(result, found, list(theirs), "ratio_to_peer")
    result.figures |= against_windows(ours, region, sample)
    report(result, found, SITES, "sites/s")
    result.bars.append(Bar(CENTRED, 1 / each, "sites/s", result.figures["ratio_to_variants"]))
    result.notes.append(f"windows, centred and to the right end, for {len(sample)} of the {SITES:,} sites")
    return result


def _scanned(ours: Ours, region: Region) -> tuple[Contestant, list[int]]:
    """The scan, salted anew in every round; and the tokens that each round computed."""
    rounds, computed = itertools.count(), list[int]()

    def run(_within: float) -> Run:
        requests = region.scan(_salted(next(rounds))).requests
        before = ours.engine.scheduler.tokens
        begun, worked = time.perf_counter(), time.process_time()
        outcomes = ours.run(requests)
        seconds, cores = time.perf_counter() - begun, time.process_time() - worked
        computed.append(ours.engine.scheduler.tokens - before)
        results = [outcome.result for outcome in outcomes]
        return Run(seconds, [tuple(found.alternatives) for found in results if isinstance(found, ScoreResult)], cores)

    return run, computed


def _centred(ours: Ours, region: Region, sample: Sequence[int]) -> Contestant:
    """The window around each site of the sample and its three alternates, as variants of an order are scored."""
    rounds = itertools.count()

    def run(_within: float) -> Run:
        plans = region.variants(Protocol("centred", WINDOW), sample, _salted(next(rounds)))
        requests: list[Request] = list(dict.fromkeys(request for plan in plans for request in plan.requests))
        begun, worked = time.perf_counter(), time.process_time()
        ours.run(requests)
        return Run(time.perf_counter() - begun, (), time.process_time() - worked)

    return run


def against_windows(ours: Ours, region: Region, sample: Sequence[int]) -> dict[str, float]:
    """The scan's Δ of the sample's changes held against those of windows that end at the site."""
    plan = region.scan()
    sites = engine.combine_region(plan, _results(ours, plan.requests))
    scanned = [
        delta for site in sample for delta, base in zip(sites[site].deltas, BASES, strict=True) if base != sites[site].reference
    ]
    exact = []
    for window in region.variants(Protocol("right-end", WINDOW), sample):
        exact.append(engine.combine(window, _results(ours, window.requests)).delta)
    apart = agreement.largest(abs(one - two) for one, two in zip(scanned, exact, strict=True))
    return {"max_abs_delta": apart, "spearman": spearman(scanned, exact)}


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Rank correlation of values without ties."""
    first, second = (np.argsort(np.argsort(values)) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])


def _results(ours: Ours, requests: Sequence[Request]) -> list[Any]:
    return [outcome.result for outcome in ours.run(requests)]


def _salted(number: int) -> Sharing:
    return Sharing("laboratory", f"round {number}")


def _complaint(tolerant: Complaint) -> Complaint:
    """Peers get the same passes; centred windows are another protocol, and nothing of theirs need be equal."""
    return lambda name, mine, theirs: "" if name == CENTRED else tolerant(name, mine, theirs)
