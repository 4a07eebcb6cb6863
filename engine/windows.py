"""From variants and sequences to scores and back: pure functions, no engine.

A window depends on contig, position, alleles and protocol, never on other items of an order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from engine import centred, right_end, structural
from engine.alternates import is_ambiguous, reverse_complement
from engine.errors import ContextTooLong, InvalidRequest
from engine.protocols import (
    AMBIGUOUS,
    UNKNOWN,
    Fetch,
    Protocol,
    SequencePlan,
    SequenceScore,
    Tokenizes,
    Variant,
    VariantPlan,
    VariantScore,
)
from engine.request import PRIVATE, REFERENCE, NextTokenResult, Score, ScoreResult, Sharing

__all__ = ["combine", "combine_sequence", "plan_sequence", "plan_variant", "reverse_complement"]

VariantResult = ScoreResult | NextTokenResult


def plan_variant(
    protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizes, *, sharing: Sharing = REFERENCE
) -> VariantPlan:
    """What to compute for one variant. `fetch(start, end)` gives reference bases, 0-based, end excluded, within the contig.

    `sharing` is that of the reference windows: the default holds for a registered reference alone. Raises ReferenceMismatch when
    REF is not what `fetch` gives and UnsupportedAllele for what the protocol cannot compare, naming the one that can where there
    is one.
    """
    if protocol.kind == "region-scan":
        raise InvalidRequest("region-scan scores regions; variants are scored centred, grid-centred or right-end")
    if structural.is_symbolic(variant.alt):
        return structural.plan(protocol, variant, fetch, tokenizer, sharing)
    if protocol.kind == "right-end":
        return right_end.plan(protocol, variant, fetch, tokenizer, sharing)
    return centred.plan(protocol, variant, fetch, tokenizer, sharing)


def combine(plan: VariantPlan, results: Sequence[VariantResult]) -> VariantScore:
    """Results in the order of `plan.requests` to one score; sums are exact and rounded once."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    sides = [_sides(plan, strand) for strand in _strands(plan, results)]
    refs, alts = [window for ref, _ in sides for window in ref], [window for _, alt in sides for window in alt]
    both = math.lcm(len(refs), len(alts))
    differences = [value * (both // len(alts)) for value in _values(alts)]
    differences += [-value * (both // len(refs)) for value in _values(refs)]
    return VariantScore(
        ll_ref=math.fsum(_values(refs)) / len(refs),
        ll_alt=math.fsum(_values(alts)) / len(alts),
        delta=math.fsum(differences) / both,
        tokens=len(refs[0]),
        flags=plan.flags,
        scored_as=plan.scored_as,
        offset=plan.offset,
        grid=plan.grid,
    )


def _strands(plan: VariantPlan, results: Sequence[VariantResult]) -> Iterator[Sequence[VariantResult]]:
    size = len(results) // plan.strands
    return (results[start : start + size] for start in range(0, len(results), size))


def _sides(plan: VariantPlan, results: Sequence[VariantResult]) -> tuple[list[Sequence[float]], list[Sequence[float]]]:
    """The log-probabilities that count, of each reference window and of each alternate of one strand."""
    if plan.scored_as == "next-token":
        return [results[0].logprobs[:1]], [results[0].logprobs[1:]]
    counted = [result.logprobs if plan.counted is None else result.logprobs[-plan.counted :] for result in results]
    return counted[: plan.references], counted[plan.references :]


def _values(windows: Iterable[Sequence[float]]) -> list[float]:
    return [value for window in windows for value in window]


def plan_sequence(
    sequence: str, tokenizer: Tokenizes, *, context: int, window: int | None = None, sharing: Sharing = PRIVATE
) -> SequencePlan:
    """The score of a whole sequence after bos; `context` is `Engine.context`.

    More bases than that are scored with `window`, which is at most half of it: every base has a context of `window` to twice as
    many bases, as in a region scan, the first ones what there is. ContextTooLong without it.
    """
    if not sequence:
        raise InvalidRequest("the sequence is empty")
    encoded = tokenizer.encode(sequence)
    flags = {UNKNOWN} if encoded.unknown else set()
    flags |= {AMBIGUOUS} if is_ambiguous(sequence.upper()) else set()
    said, length = tuple(sorted(flags)), len(encoded.ids)
    if length <= context:
        return SequencePlan((Score((*tokenizer.before, *encoded.ids), sharing),), encoded.unknown, said)
    if window is None:
        raise ContextTooLong(positions=length, context=context)
    if not 1 <= window <= context // 2:
        raise InvalidRequest(f"the window must be between 1 and {context // 2}, half of the model's context, not {window}")
    starts = range(0, length - window, window)
    requests = tuple(Score((*tokenizer.before, *encoded.ids[start : start + 2 * window]), sharing) for start in starts)
    return SequencePlan(requests, encoded.unknown, said, tuple(min(start, window) for start in starts), window)


def combine_sequence(plan: SequencePlan, results: Sequence[ScoreResult]) -> SequenceScore:
    """Sum and mean per base, each an exact sum rounded once."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    logprobs = [value for result, passed in zip(results, plan.passed, strict=True) for value in result.logprobs[passed:]]
    total = math.fsum(logprobs)
    return SequenceScore(total, total / len(logprobs), len(logprobs), plan.unknown, plan.flags, plan.window)
