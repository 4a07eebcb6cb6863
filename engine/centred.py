"""Centred and grid-centred windows: reference and alternate window of equal length around the alleles, sums over both.

Where tokens hold k bases, windows are whole tokens. A contig end that cuts a window may leave a rest: it is left out on the side
on which more bases stand, so that the change always stays inside.
"""

from __future__ import annotations

from engine import alternates
from engine.errors import OutsideContig, ReferenceMismatch, UnsupportedAllele
from engine.protocols import CUT_LEFT, CUT_RIGHT, TRIMMED, Fetch, Protocol, Variant, VariantPlan
from engine.request import Sharing
from engine.tokenizers.interface import Tokenizer

_ALLELE = frozenset("ACGTN")


def plan(protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizer, sharing: Sharing) -> VariantPlan:
    """Δ = Σ log P(alternate window) - Σ log P(reference window). Raises what `alleles`, `rest` and `alternates.requests` raise."""
    ref, alt = alleles(protocol, variant, fetch)
    at = variant.position - 1
    start = window_start(protocol, at, max(len(ref), len(alt)))
    end = min(start + protocol.window, variant.contig_length, variant.contig_length + len(alt) - len(ref))
    flags = {CUT_LEFT} if start < 0 else set()
    flags |= {CUT_RIGHT} if end < start + protocol.window else set()
    start = max(0, start)
    before, after = rest(at - start, end - at - max(len(ref), len(alt)), end - start, tokenizer)
    start, end = start + before, end - after
    left = fetch(start, at).upper()
    right = fetch(at + len(ref), end + max(0, len(ref) - len(alt))).upper()
    reference, alternate = ((left + allele + right)[: end - start] for allele in (ref, alt))
    windows = alternates.Windows([reference], [alternate], at - start, len(ref))
    found = alternates.requests(windows, protocol.strand, tokenizer, sharing)
    return VariantPlan(
        found.requests,
        tuple(sorted(flags | found.flags | ({TRIMMED} if before + after else set()))),
        strands=len(found.phases),
        passed=max(0, len(tokenizer.before) - 1),
        window=end - start,
        bases=found.bases,
        offset=at - start,
        grid=protocol.grid,
        phases=found.phases,
        trimmed=before + after,
        unknown=found.unknown,
    )


def window_start(protocol: Protocol, at: int, length: int) -> int:
    """Where the window of alleles of at most `length` bases at `at` begins, 0-based; negative where the contig would have to.

    With a grid the multiple nearest to the centred start, the lower of two: at least a quarter of the window, less a base, is then
    left on either side of a single base.
    """
    start = at - (protocol.window - length) // 2
    grid = protocol.grid
    return start if grid is None else -((grid // 2 - start) // grid) * grid


def rest(left: int, right: int, length: int, tokenizer: Tokenizer) -> tuple[int, int]:
    """Bases to leave out at the beginning and at the end of `length`, of which `left` and `right` stand beside the change.

    UnsupportedAllele where no whole token would be left around it.
    """
    width = tokenizer.width or 1
    over = length % width
    if over and (length < width or max(left, right) < over):
        raise UnsupportedAllele(f"the contig leaves {length} bases around the change: no whole tokens of {width} hold it")
    return (over, 0) if left >= right else (0, over)


def alleles(protocol: Protocol, variant: Variant, fetch: Fetch) -> tuple[str, str]:
    """REF and ALT in upper case, REF compared with the reference.

    Raises what `compare_ref` raises, and UnsupportedAllele for empty or too long alleles.
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
    """ReferenceMismatch when upper-case `ref` is not what the reference holds at the variant's position.

    OutsideContig where it holds nothing there: before base 1, which VCF names 0, or behind the last one.
    """
    at = variant.position - 1
    inside(variant.position, "POS", variant.contig_length)
    inside(at + len(ref), "the end of REF", variant.contig_length)
    found = fetch(at, at + len(ref)).upper()
    if found != ref:
        codes = "" if _ALLELE.issuperset(found) else ", with codes that stand for several bases, so that it cannot be compared"
        raise ReferenceMismatch(f"REF is {ref} and the reference holds {found} at position {variant.position}{codes}")


def inside(position: int, name: str, contig_length: int) -> None:
    """OutsideContig for a 1-based position that is none of the contig's bases."""
    if not 1 <= position <= contig_length:
        raise OutsideContig(f"{name} is {position}, outside the contig of {contig_length} bases")
