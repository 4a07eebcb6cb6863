"""Centred and grid-centred windows: reference and alternate window of equal length around the alleles, sums over both."""

from __future__ import annotations

from engine import alternates
from engine.errors import ReferenceMismatch, UnsupportedAllele
from engine.protocols import CUT_LEFT, CUT_RIGHT, Fetch, Protocol, Tokenizes, Variant, VariantPlan
from engine.request import Sharing

_ALLELE = frozenset("ACGTN")


def plan(protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizes, sharing: Sharing) -> VariantPlan:
    """Δ = Σ log P(alternate window) - Σ log P(reference window). Raises what `alleles` raises."""
    ref, alt = alleles(protocol, variant, fetch)
    at = variant.position - 1
    start = window_start(protocol, at, max(len(ref), len(alt)))
    available = min(start + protocol.window, variant.contig_length, variant.contig_length + len(alt) - len(ref))
    flags = {CUT_LEFT} if start < 0 else set()
    flags |= {CUT_RIGHT} if available < start + protocol.window else set()
    start = max(0, start)
    length = available - start
    left = fetch(start, at).upper()
    right = fetch(at + len(ref), start + length + max(0, len(ref) - len(alt))).upper()
    reference, alternate = ((left + allele + right)[:length] for allele in (ref, alt))
    requests, said = alternates.requests([reference], [alternate], protocol.strand, tokenizer, sharing)
    strands = len(alternates.directions(protocol.strand))
    return VariantPlan(requests, tuple(sorted(flags | said)), strands=strands, offset=at - start, grid=protocol.grid)


def window_start(protocol: Protocol, at: int, length: int) -> int:
    """Where the window of alleles of at most `length` bases at `at` begins, 0-based; negative where the contig would have to.

    With a grid the multiple nearest to the centred start, the lower of two: at least a quarter of the window, less a base, is then
    left on either side of a single base.
    """
    start = at - (protocol.window - length) // 2
    grid = protocol.grid
    return start if grid is None else -((grid // 2 - start) // grid) * grid


def alleles(protocol: Protocol, variant: Variant, fetch: Fetch) -> tuple[str, str]:
    """REF and ALT in upper case, REF compared with the reference.

    Raises ReferenceMismatch when REF is not what `fetch` gives and UnsupportedAllele for empty or too long alleles.
    """
    ref, alt = variant.ref.upper(), variant.alt.upper()
    for name, allele in (("REF", ref), ("ALT", alt)):
        if not allele or not _ALLELE.issuperset(allele):
            raise UnsupportedAllele(f"{name} {allele or '(empty)'} is not a sequence of A, C, G, T and N")
        if len(allele) > protocol.window // 2:
            raise UnsupportedAllele(f"{name} has {len(allele)} bases, more than half of the window of {protocol.window}")
    compare_ref(variant, ref, fetch)
    return ref, alt


def compare_ref(variant: Variant, ref: str, fetch: Fetch) -> None:
    """ReferenceMismatch when upper-case `ref` is not what the reference holds at the variant's position."""
    at = variant.position - 1
    if not 0 <= at <= variant.contig_length - len(ref):
        raise ReferenceMismatch(f"position {variant.position} lies outside the contig of {variant.contig_length} bases")
    found = fetch(at, at + len(ref)).upper()
    if found != ref:
        raise ReferenceMismatch(f"REF is {ref} and the reference holds {found} at position {variant.position}")
