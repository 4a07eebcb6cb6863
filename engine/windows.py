"""From variants and sequences to scores and back: pure functions, no engine.

A window depends on contig, position, alleles and protocol, never on other items of an order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol as Interface

from engine.errors import ContextTooLong, InvalidRequest, ReferenceMismatch, UnsupportedAllele
from engine.protocols import (
    AMBIGUOUS,
    CUT_LEFT,
    CUT_RIGHT,
    UNKNOWN,
    Protocol,
    SequencePlan,
    SequenceScore,
    Variant,
    VariantPlan,
    VariantScore,
)
from engine.request import Score, ScoreResult
from engine.tokenizer import Encoded

_COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
_BASES = frozenset("ACGT")
_ALLELE = frozenset("ACGTN")


class Tokenizes(Interface):
    """What planning needs of a tokenizer."""

    bos: int

    def encode(self, text: str) -> Encoded:
        """Ids without bos, and the places of unknown characters."""
        ...


def plan_variant(protocol: Protocol, variant: Variant, fetch: Callable[[int, int], str], tokenizer: Tokenizes) -> VariantPlan:
    """The windows of one variant. `fetch(start, end)` gives reference bases, 0-based, end excluded, within the contig.

    Raises ReferenceMismatch when REF is not what `fetch` gives and UnsupportedAllele for symbolic, empty or too long alleles.
    """
    ref, alt = variant.ref.upper(), variant.alt.upper()
    _check(protocol, variant, ref, alt)
    at = variant.position - 1
    found = fetch(at, at + len(ref)).upper()
    if found != ref:
        raise ReferenceMismatch(f"REF is {ref} and the reference holds {found} at position {variant.position}")
    start = at - (protocol.window - max(len(ref), len(alt))) // 2
    available = min(start + protocol.window, variant.contig_length, variant.contig_length + len(alt) - len(ref))
    flags = {CUT_LEFT} if start < 0 else set()
    flags |= {CUT_RIGHT} if available < start + protocol.window else set()
    start = max(0, start)
    length = available - start
    left = fetch(start, at).upper()
    right = fetch(at + len(ref), start + length + max(0, len(ref) - len(alt))).upper()
    windows = [(left + allele + right)[:length] for allele in (ref, alt)]
    return _encode(protocol, windows, flags, tokenizer)


def _check(protocol: Protocol, variant: Variant, ref: str, alt: str) -> None:
    for name, allele in (("REF", ref), ("ALT", alt)):
        if not allele or not _ALLELE.issuperset(allele):
            raise UnsupportedAllele(f"{name} {allele or '(empty)'} is not a sequence of A, C, G, T and N")
        if len(allele) > protocol.window // 2:
            raise UnsupportedAllele(f"{name} has {len(allele)} bases, more than half of the window of {protocol.window}")
    if not 1 <= variant.position <= variant.contig_length - len(ref) + 1:
        raise ReferenceMismatch(f"position {variant.position} lies outside the contig of {variant.contig_length} bases")


def _encode(protocol: Protocol, windows: list[str], flags: set[str], tokenizer: Tokenizes) -> VariantPlan:
    oriented = windows if protocol.strand != "reverse" else [reverse_complement(window) for window in windows]
    if protocol.strand == "average":
        oriented = windows + [reverse_complement(window) for window in windows]
    if not all(_BASES.issuperset(window) for window in windows):
        flags |= {AMBIGUOUS}
    encoded = [tokenizer.encode(window) for window in oriented]
    if any(window.unknown for window in encoded):
        flags |= {UNKNOWN}
    return VariantPlan(tuple(Score((tokenizer.bos, *window.ids)) for window in encoded), tuple(sorted(flags)))


def reverse_complement(bases: str) -> str:
    """The other strand, IUPAC codes included; other characters stay themselves."""
    return bases.translate(_COMPLEMENT)[::-1]


def combine(plan: VariantPlan, results: Sequence[ScoreResult]) -> VariantScore:
    """Results in the order of `plan.requests` to one score; sums are exact and rounded once."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    refs = [value for result in results[0::2] for value in result.logprobs]
    alts = [value for result in results[1::2] for value in result.logprobs]
    strands = len(results) // 2
    return VariantScore(
        ll_ref=math.fsum(refs) / strands,
        ll_alt=math.fsum(alts) / strands,
        delta=math.fsum(alts + [-value for value in refs]) / strands,
        tokens=len(results[0].logprobs),
        flags=plan.flags,
    )


def plan_sequence(sequence: str, tokenizer: Tokenizes, *, context: int) -> SequencePlan:
    """The score of a whole sequence after bos; `context` is `Engine.context`.

    ContextTooLong for more bases than that: they need a windowed protocol.
    """
    if not sequence:
        raise InvalidRequest("the sequence is empty")
    encoded = tokenizer.encode(sequence)
    if len(encoded.ids) > context:
        raise ContextTooLong(positions=len(encoded.ids), context=context)
    flags = {UNKNOWN} if encoded.unknown else set()
    flags |= set() if _BASES.issuperset(sequence.upper()) else {AMBIGUOUS}
    return SequencePlan((Score((tokenizer.bos, *encoded.ids)),), encoded.unknown, tuple(sorted(flags)))


def combine_sequence(plan: SequencePlan, results: Sequence[ScoreResult]) -> SequenceScore:
    """Sum and mean per base, each an exact sum rounded once."""
    logprobs = [value for result in results for value in result.logprobs]
    total = math.fsum(logprobs)
    return SequenceScore(total, total / len(logprobs), len(logprobs), plan.unknown, plan.flags)
