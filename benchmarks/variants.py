"""`variants`: alternates as branches of their reference window, against every sequence whole and against peers."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import Any

from benchmarks import agreement, models, rivals, workloads
from benchmarks.comparing import OURS, Complaint, Contestant, Run, alternate, best_peer, report, same_bits
from benchmarks.measured import Measured
from benchmarks.options import Options
from benchmarks.ours import Ours, answer, default
from benchmarks.peer import Work
from benchmarks.workloads import Locus
from engine import Score
from engine.request import Branch, Sharing

PLAIN = "every sequence whole"
QUICK = 4  # reference windows of the quick run


def variants(options: Options) -> Measured:
    """20 windows of 1,024 tokens with 10 alternates each: summed log-likelihoods of all 220."""
    loci = workloads.variants()[: QUICK if options.quick else None]
    result = Measured("variants", _title(loci), options.precision, options.rounds)
    if options.quick:
        result.notes.append(f"quick: {len(loci)} of the 20 windows")
    sequences = workloads.sequences(loci)
    ours = Ours(models.folder(), default(options.precision))
    plain = ours.contestant([Score(tokens) for tokens in sequences])
    shared, computed = _shared(ours, loci)
    peers = rivals.chosen(options.rivals, "score", options.precision)
    work = [Work(tokens) for tokens in sequences]
    with contextlib.ExitStack() as stack:
        theirs: dict[str, Contestant] = {}
        if peers:
            job = rivals.job("score", work, options.precision, threads=ours.config.threads, slots=ours.config.slots)
            theirs = stack.enter_context(rivals.started(result, peers, job))
        lengths = [len(tokens) for tokens in sequences]
        complaint = dispatched(agreement.sums(lengths, options.precision))
        found = alternate({OURS: shared, PLAIN: plain, **theirs}, options.rounds, complaint)
    if found.measured(PLAIN):
        result.figures["ratio_to_plain"] = found.ratio(PLAIN)
    else:
        result.skip("ratio_to_plain", found.times[PLAIN].fault)
    result.figures["tokens_excess"] = max(computed) - least(loci)
    best_peer(result, found, list(theirs), "ratio_to_best_peer")
    result.notes.append(
        f"peers get every distinct sequence once, and may differ by {agreement.PER_TOKEN[options.precision]} nats a token"
    )
    report(result, found, len(sequences), "sequences/s")
    return result


def least(loci: Sequence[Locus]) -> int:
    """Tokens to compute: each window once, each alternate from its first changed token; a last token predicts nothing."""
    trunks = sum(len(locus.reference) - 1 for locus in loci)
    return trunks + sum(len(locus.reference) - 1 - changed.at for locus in loci for changed in locus.alternates)


def dispatched(tolerant: Complaint) -> Complaint:
    """The same bits from our other way, a tolerance for peers."""

    def complaint(name: str, mine: Sequence[Any], theirs: Sequence[Any]) -> str:
        return (same_bits if name == PLAIN else tolerant)(name, mine, theirs)

    return complaint


def _shared(ours: Ours, loci: Sequence[Locus]) -> tuple[Contestant, list[int]]:
    """Windows and branches, salted anew in every round so that none serves the next; and the tokens each round computed."""
    rounds, computed = itertools.count(), list[int]()

    def run(_within: float) -> Run:
        sharing = Sharing("laboratory", f"round {next(rounds)}")
        requests = [request for locus in loci for request in _requests(locus, sharing)]
        before = int(ours.engine.stats()["tokens"])
        begun, worked = time.perf_counter(), time.process_time()
        outcomes = ours.run(requests)
        seconds, cores = time.perf_counter() - begun, time.process_time() - worked
        computed.append(int(ours.engine.stats()["tokens"]) - before)
        return Run(seconds, [answer(outcome) for outcome in outcomes], cores)

    return run, computed


def _requests(locus: Locus, sharing: Sharing) -> list[Score]:
    reference = locus.reference
    branches = [Branch(changed.at, (changed.base, *reference[changed.at + 1 :])) for changed in locus.alternates]
    return [Score(reference, sharing), *(Score(reference, sharing, branch) for branch in branches)]


def _title(loci: Sequence[Locus]) -> str:
    return f"Variants: {len(loci)} windows of {workloads.WINDOW:,} tokens, {len(loci[0].alternates)} alternates each"
