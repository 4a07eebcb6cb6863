"""From variants to scores and back: pure functions, no engine.

A window depends on contig, position, alleles and protocol, never on other items of an order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from engine import centred, right_end, structural
from engine.alternates import reverse_complement
from engine.errors import InvalidRequest
from engine.plain_sequences import combine_sequence, plan_sequence
from engine.protocols import ROUNDED, Fetch, Protocol, Variant, VariantPlan, VariantScore, fitted
from engine.request import REFERENCE, NextTokenResult, ScoreResult, Sharing
from engine.tokenizers.interface import Tokenizer

__all__ = ["combine", "combine_sequence", "plan_sequence", "plan_variant", "reverse_complement"]

VariantResult = ScoreResult | NextTokenResult
_TOLD = ("flags", "scored_as", "window", "bases", "offset", "grid", "phases", "trimmed", "unknown")  # of a plan with its score


def plan_variant(
    protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizer, *, sharing: Sharing = REFERENCE
) -> VariantPlan:
    """What to compute for one variant. `fetch(start, end)` gives reference bases, 0-based, end excluded, within the contig.

    `sharing` is that of the reference windows: the default holds for a registered reference alone. Raises ReferenceMismatch when
    REF is not what `fetch` gives, UnsupportedAllele for what the protocol cannot compare, naming the one that can where there
    is one, and UnsupportedTokenizer where the model's tokens do not allow the protocol.
    """
    if protocol.kind == "region-scan":
        raise InvalidRequest("region-scan scores regions; variants are scored centred, grid-centred or right-end")
    used = fitted(protocol, tokenizer)
    plan = _planner(used, variant)(used, variant, fetch, tokenizer, sharing)
    return plan if used is protocol else replace(plan, flags=tuple(sorted({*plan.flags, ROUNDED})))


def _planner(protocol: Protocol, variant: Variant) -> Callable[[Protocol, Variant, Fetch, Tokenizer, Sharing], VariantPlan]:
    if structural.is_symbolic(variant.alt):
        return structural.plan
    return right_end.plan if protocol.kind == "right-end" else centred.plan


def combine(plan: VariantPlan, results: Sequence[VariantResult]) -> VariantScore:
    """Results in the order of `plan.requests` to one score; sums are exact and rounded once."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    sides = [counted_values(plan, strand) for strand in _strands(plan, results)]
    refs, alts = [window for ref, _ in sides for window in ref], [window for _, alt in sides for window in alt]
    both = math.lcm(len(refs), len(alts))
    differences = [value * (both // len(alts)) for value in _values(alts)]
    differences += [-value * (both // len(refs)) for value in _values(refs)]
    ref_values, alt_values = _values(refs), _values(alts)
    return VariantScore(
        ll_ref=math.fsum(ref_values) / len(refs),
        ll_alt=math.fsum(alt_values) / len(alts),
        delta=math.fsum(differences) / both,
        tokens=len(refs[0]),
        alt_tokens=len(alts[0]),
        ref_per_token=math.fsum(ref_values) / len(ref_values),
        alt_per_token=math.fsum(alt_values) / len(alt_values),
        **{name: getattr(plan, name) for name in _TOLD},
    )


def _strands(plan: VariantPlan, results: Sequence[VariantResult]) -> Iterator[Sequence[VariantResult]]:
    size = len(results) // plan.strands
    return (results[start : start + size] for start in range(0, len(results), size))


def counted_values(
    plan: VariantPlan, results: Sequence[VariantResult]
) -> tuple[list[Sequence[float]], list[Sequence[float]]]:
    """The log-probabilities that count, of each reference window and of each alternate of one strand."""
    if plan.scored_as in ("next-token", "marginalised"):
        return [results[0].logprobs[:1]], [results[0].logprobs[1:]]
    counted = [result.logprobs[plan.passed :] if plan.counted is None else result.logprobs[-plan.counted :] for result in results]
    return counted[: plan.references], counted[plan.references :]


def _values(windows: Iterable[Sequence[float]]) -> list[float]:
    return [value for window in windows for value in window]
