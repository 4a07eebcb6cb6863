"""`reads`: many short reads and a few long contigs, scored together."""

from __future__ import annotations

import contextlib

from benchmarks import agreement, floor, models, rivals, workloads
from benchmarks.comparing import OURS, Contestant, alternate, best_peer, report
from benchmarks.measured import Measured, NotMeasured
from benchmarks.options import Options
from benchmarks.ours import Ours, default
from benchmarks.peer import Work
from engine import Score

WHOLE, TENTH, QUICK = (20_000, 20), (2_000, 2), (200, 1)  # reads and contigs


def reads(options: Options) -> Measured:
    """Reads of 35–300 bases and contigs of 10–50 kb; a tenth of the workload unless `--whole` asks for all."""
    size = QUICK if options.quick else WHOLE if options.whole else TENTH
    sequences = workloads.reads(*size)
    title = f"Reads: {size[0]:,} of 35–300 bases and {size[1]} contigs of 10–50 kb"
    result = Measured("reads", title, options.precision, options.rounds)
    if size != WHOLE:
        result.notes.append(f"the first {size[0]:,} of 20,000 reads and {size[1]} of 20 contigs")
    ours = Ours(models.folder(), default(options.precision))
    peers = rivals.chosen(options.rivals, "score", options.precision)
    with contextlib.ExitStack() as stack:
        theirs: dict[str, Contestant] = {}
        if peers:
            work = [Work(tokens) for tokens in sequences]
            job = rivals.job("score", work, options.precision, threads=ours.config.threads, slots=ours.config.slots)
            theirs = stack.enter_context(rivals.started(result, peers, job))
        complaint = agreement.sums([len(tokens) for tokens in sequences], options.precision)
        contestant = ours.contestant([Score(tokens) for tokens in sequences])
        found = alternate({OURS: contestant, **theirs}, options.rounds, complaint)
    tokens = sum(map(len, sequences))
    best_peer(result, found, list(theirs), "ratio_to_best_peer")
    result.figures["tokens_per_second"] = tokens / found.times[OURS].median
    key = f"fraction_of_floor_{options.precision}"
    try:
        least = floor.seconds(tokens, options.precision, ours.config.threads)
        result.figures[key] = least / found.times[OURS].median
    except NotMeasured as why:
        result.skip(key, why)
    report(result, found, tokens, "tokens/s")
    return result
