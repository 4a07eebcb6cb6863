"""Right-end windows: the window ends with the allele, and only what stands before it in the direction of reading counts.

With c the left context and r, a the alleles without the bases they share at either end, Δ = log P(a | c) - log P(r | c). The
bases after the last difference play no part, so a record padded with them scores as the trimmed one does. For a single base both
numbers stand in the distribution of the next token (`next-token`). Longer alleles of equal length are chained, log P(a) = Σ log
P(aᵢ | c a₁ … aᵢ₋₁), as the last tokens of two scores that share c (`chained`). Alleles of unequal length would be sums over
unequal numbers of tokens: refused.

This is the rule for one token a base. For k-mers it becomes a sum over all tokens that begin with the allele.
"""

from __future__ import annotations

from engine import alternates
from engine.centred import alleles
from engine.errors import UnequalAlleles, UnsupportedAllele
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, UNKNOWN, Fetch, Protocol, ScoredAs, Tokenizes, Variant, VariantPlan
from engine.request import NextToken, Score, Sharing


def plan(protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizes, sharing: Sharing) -> VariantPlan:
    """One request a strand for a single base, two for longer alleles.

    Raises what `alleles` raises, UnequalAlleles, and UnsupportedAllele for alleles that do not differ or hold N.
    """
    at, ref, alt = changed(variant.position - 1, *alleles(protocol, variant, fetch))
    flags: set[str] = set()
    requests: list[Score | NextToken] = []
    for reverse in alternates.directions(protocol.strand):
        context, cut = _context(protocol, variant, at, len(ref), reverse, fetch)
        flags |= {CUT_RIGHT if reverse else CUT_LEFT} if cut else set()
        flags |= {AMBIGUOUS} if alternates.is_ambiguous(context) else set()
        before = alternates.encoded(context, tokenizer)
        flags |= {UNKNOWN} if before.unknown else set()
        read = [alternates.reverse_complement(allele) if reverse else allele for allele in (ref, alt)]
        ends = [alternates.encoded(allele, tokenizer).ids for allele in read]
        requests += _requests((*tokenizer.before, *before.ids), ends[0], ends[1], sharing)
    strands = len(alternates.directions(protocol.strand))
    scored_as: ScoredAs = "next-token" if len(ref) == 1 else "chained"
    return VariantPlan(tuple(requests), tuple(sorted(flags)), scored_as, strands, counted=len(ref))


def changed(at: int, ref: str, alt: str) -> tuple[int, str, str]:
    """0-based place and alleles from the first to the last difference."""
    if len(ref) != len(alt):
        raise UnequalAlleles(
            f"REF has {len(ref)} bases and ALT {len(alt)}: right-end compares alleles of equal length; score this one centred"
        )
    if ref == alt:
        raise UnsupportedAllele(f"REF and ALT are both {ref}")
    differences = [place for place, (one, other) in enumerate(zip(ref, alt, strict=True)) if one != other]
    first, last = differences[0], differences[-1] + 1
    if "N" in ref[first:last] + alt[first:last]:
        raise UnsupportedAllele(f"{ref[first:last]} to {alt[first:last]}: N stands for any base and has no probability of its own")
    return at + first, ref[first:last], alt[first:last]


def _context(protocol: Protocol, variant: Variant, at: int, length: int, reverse: bool, fetch: Fetch) -> tuple[str, bool]:
    """The bases before the allele in the direction of reading, and whether the contig ended before they did."""
    wanted = protocol.window - length
    if reverse:
        end = min(variant.contig_length, at + protocol.window)
        return alternates.reverse_complement(fetch(at + length, end).upper()), end < at + protocol.window
    return fetch(max(0, at - wanted), at).upper(), at < wanted


def _requests(context: tuple[int, ...], ref: tuple[int, ...], alt: tuple[int, ...], sharing: Sharing) -> list[Score | NextToken]:
    if len(ref) == 1:
        return [NextToken(context, (*ref, *alt), sharing)]
    trunk = Score((*context, *ref), sharing)
    return [trunk, alternates.branch([trunk], (*context, *alt))]
