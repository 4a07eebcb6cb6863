"""Whether a peer computed the same thing, within a tolerance that stands beside the figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.comparing import Complaint
from benchmarks.ours import Ours
from benchmarks.peer import Precision, Work
from engine import Score

# Nats, on average: by which ids may be less likely than ours where the answers first part, and by which log-probabilities may
# differ one by one. Ids of another computation lie about 2 below; bf16 on random weights has single places nearly 1 below.
NEAR_TIE: dict[Precision, float] = {"fp32": 0.01, "bf16": 0.25, "int8": 0.5}
# Nats per token by which summed log-likelihoods of LONG tokens or more may differ. Rounding scatters from token to token, so the
# mean over fewer tokens may lie further off, by the root of what is missing.
PER_TOKEN: dict[Precision, float] = {"fp32": 1e-4, "bf16": 0.01, "int8": 0.05}
LONG = 512
_CHECKED = 16  # requests whose parting is looked into; every one is checked for its length


def greedy(engine: Ours, work: Sequence[Work], precision: Precision) -> Complaint:
    """The complaint about greedy ids: two precisions may part at near-ties."""

    def complaint(_name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> str:
        short = sum(len(ids) != piece.limit for ids, piece in zip(theirs, work, strict=True))
        if short:
            return f"{short} of {len(work)} answers have not the length asked for"
        parted = [_parting(piece, mine, ids) for piece, mine, ids in zip(work, ours, theirs, strict=True)]
        probes = [found for found in parted if found is not None][:_CHECKED]
        outcomes = engine.run([Score(tokens) for tokens, _ in probes])
        lost = [best - outcome.result.logprobs[-1] for outcome, (_, best) in zip(outcomes, probes, strict=True)]  # type: ignore[union-attr]
        mean = statistics.fmean(lost) if lost else 0.0
        return f"where its ids part from ours they are {mean:.2f} nats less likely" if not mean <= NEAR_TIE[precision] else ""

    return complaint


def _parting(piece: Work, ours: Any, theirs: Sequence[int]) -> tuple[tuple[int, ...], float] | None:
    """Their beginning up to the first id that is not ours, and the log-probability of ours in its place."""
    tokens, logprobs = ours
    for place, (mine, other) in enumerate(zip(tokens, theirs, strict=True)):
        if mine != other:
            return (*piece.tokens, *tokens[:place], other), logprobs[place]
    return None


def sums(lengths: Sequence[int], precision: Precision) -> Complaint:
    """The complaint about summed log-likelihoods of sequences of those lengths; ours are summed here."""

    def complaint(_name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> str:
        summed = (math.fsum(logprobs) for _, logprobs in ours)
        apart = [
            abs(mine - other) / length * math.sqrt(min(length, LONG) / LONG)
            for mine, other, length in zip(summed, theirs, lengths, strict=True)
        ]
        worst = largest(apart)
        return f"sums differ by {worst:.4f} nats a token" if not worst <= PER_TOKEN[precision] else ""

    return complaint


def each(precision: Precision) -> Complaint:
    """The complaint about log-probabilities one by one; ours and theirs are lists of them, a list for each piece of work."""

    def complaint(_name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> str:
        if [len(mine) for mine in ours] != [len(other) for other in theirs]:
            return "answers of another length than ours"
        pairs = (pair for mine, other in zip(ours, theirs, strict=True) for pair in zip(mine, other, strict=True))
        mean = statistics.fmean(abs(one - two) for one, two in pairs)
        return f"log-probabilities differ by {mean:.3f} nats on average" if not mean <= NEAR_TIE[precision] else ""

    return complaint


def largest(values: Iterable[float]) -> float:
    """The largest, 0 when there is none, and no number when one of them is none: `max` would pass over it."""
    found = list(values)
    return math.nan if any(map(math.isnan, found)) else max(found, default=0.0)
