"""Right-end windows: the window ends with the allele, and only what stands before it in the direction of reading counts.

With c the left context and r, a the alleles without the bases they share at either end, Δ = log P(a | c) - log P(r | c). The
bases after the last difference play no part, so a record padded with them scores as the trimmed one does. Alleles of unequal
length would be sums over unequal numbers of tokens: refused.

One token a base: for a single base both numbers stand in the distribution of the next token (`next-token`); longer alleles are
chained, log P(a) = Σ log P(aᵢ | c a₁ … aᵢ₋₁), as the last tokens of two scores that share c (`chained`).

Tokens of k bases: the allele stands at the beginning of a token, so c is whole tokens that end before it, and log P(a | c) is the
log of the sum over all tokens that begin with a, both from one distribution (`marginalised`). Where a site lies in the contig
decides in which of the k phases its context is cut into tokens. An allele of more than k bases would need a sum over pairs of
tokens: refused. Byte pairs do not end where an allele begins: refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import alternates
from engine.centred import alleles
from engine.errors import UnequalAlleles, UnsupportedAllele
from engine.protocols import AMBIGUOUS, CUT_LEFT, CUT_RIGHT, TRIMMED, Fetch, Protocol, ScoredAs, Variant, VariantPlan
from engine.request import NextToken, Score, Sharing
from engine.tokenizers.interface import Tokenizer


@dataclass(frozen=True, slots=True)
class _Read:
    """The bases before an allele in the direction of reading, whole tokens of them, and what is to be said of them."""

    context: str
    trimmed: int
    flags: frozenset[str]


def plan(protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizer, sharing: Sharing) -> VariantPlan:
    """One request a strand where one distribution holds both alleles, two for chained ones.

    Raises what `alleles` raises, UnequalAlleles, UnsupportedTokenizer, and UnsupportedAllele for alleles that do not differ, hold
    N, are longer than a token of several bases, or have nothing before them.
    """
    width = alternates.even_width(tokenizer, protocol.kind)
    at, ref, alt = changed(variant.position - 1, *alleles(protocol, variant, fetch))
    if 1 < width < len(ref):
        raise UnsupportedAllele(f"the change spans {len(ref)} bases, more than the {width} of a token; score this one centred")
    reads, requests, unknown = [], [], 0
    flags: set[str] = set()
    for reverse in alternates.directions(protocol.strand):
        read = _before(protocol, variant, (at, at + len(ref)), reverse, width, fetch)
        before = tokenizer.encode(read.context)
        tokens = (*tokenizer.before, *before.ids)
        if not tokens:
            raise UnsupportedAllele("nothing stands before the allele, and this model reads nothing before a sequence")
        both = [alternates.reverse_complement(allele) if reverse else allele for allele in (ref, alt)]
        requests += _requests(tokens, both, tokenizer, sharing)
        flags |= read.flags | alternates.losses(before)
        unknown = max(unknown, len(before.unknown))
        reads.append(read)
    return VariantPlan(
        tuple(requests),
        tuple(sorted(flags)),
        _scored_as(width, len(ref)),
        strands=len(reads),
        counted=len(ref),
        window=len(reads[0].context) + len(ref),
        bases=len(ref),
        phases=(0,) * len(reads),
        trimmed=max(read.trimmed for read in reads),
        unknown=unknown,
    )


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


def _scored_as(width: int, length: int) -> ScoredAs:
    if width > 1:
        return "marginalised"
    return "next-token" if length == 1 else "chained"


def _before(protocol: Protocol, variant: Variant, allele: tuple[int, int], reverse: bool, width: int, fetch: Fetch) -> _Read:
    """What is read before [start, end): with the allele, or the token that begins with it, as many bases as the window has."""
    start, end = allele
    wanted = protocol.window - max(width, end - start)
    there = min(wanted, variant.contig_length - end if reverse else start)
    over = there % width
    kept = there - over
    bases = fetch(end, end + kept) if reverse else fetch(start - kept, start)
    context = alternates.reverse_complement(bases.upper()) if reverse else bases.upper()
    flags = {CUT_RIGHT if reverse else CUT_LEFT} if there < wanted else set()
    flags |= {AMBIGUOUS} if alternates.is_ambiguous(context) else set()
    return _Read(context, over, frozenset(flags | ({TRIMMED} if over else set())))


def _requests(context: tuple[int, ...], both: list[str], tokenizer: Tokenizer, sharing: Sharing) -> list[Score | NextToken]:
    if len(both[0]) == 1 or tokenizer.width != 1:
        return [NextToken(context, tuple(alternates.beginning_with(allele, tokenizer) for allele in both), sharing)]
    ref, alt = ((*context, *tokenizer.encode(allele).ids) for allele in both)
    trunk = Score(ref, sharing)
    return [trunk, alternates.branch([trunk], alt)]
