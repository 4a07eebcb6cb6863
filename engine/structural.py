"""Deletions, tandem duplications and inversions without a written sequence: resolved from the reference, or scored where it breaks.

The event is the bases after `position` up to `end`. Where its written-out alleles fit the window it is scored `whole`, as the
same change spelled out would be. A longer one is scored by `breakpoints`: a window across each new junction of the alternate
against the windows across the two places where the reference breaks, Δ = mean log P(junctions) - mean log P(reference
breakpoints). With L and R the flanks before and after the event E, and ' for the reverse complement: a deletion joins L|R, a
duplication E|E, an inversion L|E' and E'|R; the reference holds L|E and E|R. All windows have as much before their middle, and as
much after it, as each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine import alternates, centred
from engine.errors import UnsupportedAllele
from engine.protocols import CUT_LEFT, CUT_RIGHT, TRIMMED, Fetch, Protocol, Variant, VariantPlan
from engine.request import Sharing
from engine.tokenizers.interface import Tokenizer

KINDS = ("DEL", "DUP", "INV")
LONGEST = 100_000  # bases of an event
_REASONS = {
    "INS": "an insertion without its sequence",
    "CNV": "a number of copies, not a sequence",
    "BND": "a breakend, whose other side may be anywhere",
    "*": "an allele that a deletion before it took away",
    "NON_REF": "any allele that was not seen",
}
_ALSO = {"<*>": "NON_REF", "<X>": "NON_REF", "*": "*"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bases [start, end) of the contig, 0-based, perhaps of its other strand."""

    start: int
    end: int
    reverse: bool = False


Window = tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """Windows of equal length across the places where the reference breaks and across what the alternate joins."""

    references: tuple[Window, Window]
    junctions: tuple[Window, ...]
    flags: frozenset[str]
    trimmed: int  # bases left out of each window, because they filled no token


def plan(protocol: Protocol, variant: Variant, fetch: Fetch, tokenizer: Tokenizer, sharing: Sharing) -> VariantPlan:
    """Raises UnsupportedAllele for what the reference cannot resolve, what is too long, and protocols other than centred."""
    kind = _kind(variant.alt)
    if protocol.kind != "centred":
        raise UnsupportedAllele(f"ALT {variant.alt} cannot be scored {protocol.kind}; score it centred")
    end = _checked_end(variant, fetch)
    if 1 + end - variant.position <= protocol.window // 2:
        written = centred.plan(protocol, resolved(kind, variant, end, fetch), fetch, tokenizer, sharing)
        return replace(written, scored_as="whole")
    found = breakpoints(kind, variant.position, end, protocol.window, variant.contig_length, tokenizer)
    references, junctions = ([_bases(window, fetch) for window in side] for side in (found.references, found.junctions))
    before, after = (stretch.end - stretch.start for stretch in found.references[0])
    windows = alternates.Windows(references, junctions, before, 0)
    scores = alternates.requests(windows, protocol.strand, tokenizer, sharing)
    return VariantPlan(
        scores.requests,
        tuple(sorted(found.flags | scores.flags)),
        "breakpoints",
        strands=len(scores.phases),
        references=len(references),
        passed=max(0, len(tokenizer.before) - 1),
        window=before + after,
        bases=scores.bases,
        phases=scores.phases,
        trimmed=found.trimmed,
        unknown=scores.unknown,
    )


def resolved(kind: str, variant: Variant, end: int, fetch: Fetch) -> Variant:
    """The same change with its alleles written out, the base at `position` before both."""
    base = fetch(variant.position - 1, variant.position).upper()
    event = fetch(variant.position, end).upper()
    ref, alt = {
        "DEL": (base + event, base),
        "DUP": (base, base + event),
        "INV": (base + event, base + alternates.reverse_complement(event)),
    }[kind]
    return Variant(variant.contig_length, variant.position, ref, alt)


def breakpoints(kind: str, position: int, end: int, window: int, contig_length: int, tokenizer: Tokenizer) -> Breakpoints:
    """Windows of an event of bases `position` + 1 to `end` (1-based), as stretches of the contig."""
    half = window // 2
    before, after = min(half, position, end - position), min(window - half, contig_length - end, end - position)
    if after == 0:
        raise UnsupportedAllele(f"the {kind} reaches the end of the contig: nothing stands behind it to compare")
    over = centred.rest(before, after, before + after, tokenizer)
    before, after = before - over[0], after - over[1]
    left, right = Stretch(position - before, position), Stretch(end, end + after)
    head, tail = Stretch(position, position + after), Stretch(end - before, end)
    turned_tail = Stretch(end - after, end, reverse=True)
    turned_head = Stretch(position, position + before, reverse=True)
    junctions: dict[str, tuple[Window, ...]] = {
        "DEL": ((left, right),),
        "DUP": ((tail, head),),
        "INV": ((left, turned_tail), (turned_head, right)),
    }
    flags = {CUT_LEFT} if position < half else set()
    flags |= {CUT_RIGHT} if contig_length - end < window - half else set()
    flags |= {TRIMMED} if any(over) else set()
    return Breakpoints(((left, head), (tail, right)), junctions[kind], frozenset(flags), sum(over))


def is_symbolic(alt: str) -> bool:
    """Whether an ALT names an event, a breakend or a lost allele instead of bases."""
    return any(character in alt for character in "<>[]*") or (len(alt) > 1 and "." in (alt[0], alt[-1]))


def _kind(alt: str) -> str:
    named = alt.upper()
    angled = named[1:-1].split(":")[0] if named.startswith("<") and named.endswith(">") else "BND"
    kind = _ALSO.get(named, angled)
    if kind not in KINDS:
        why = _REASONS.get(kind, "not an event that the reference and END describe")
        raise UnsupportedAllele(f"ALT {alt} is {why}; {', '.join(KINDS)} with an END can be scored")
    return kind


def _checked_end(variant: Variant, fetch: Fetch) -> int:
    ref, length = variant.ref.upper(), variant.contig_length
    centred.inside(variant.position, "POS", length)
    if ref != "N":  # written by callers that did not look the base up
        centred.compare_ref(variant, ref, fetch)
    if variant.end is None:
        raise UnsupportedAllele(f"ALT {variant.alt} has no END")
    if variant.end <= variant.position:
        raise UnsupportedAllele(f"ALT {variant.alt} ends at {variant.end}, which is not behind its position {variant.position}")
    centred.inside(variant.end, "END", length)
    if variant.end - variant.position > LONGEST:
        raise UnsupportedAllele(f"ALT {variant.alt} has {variant.end - variant.position} bases, more than {LONGEST}")
    return variant.end


def _bases(window: Window, fetch: Fetch) -> str:
    found = [(fetch(stretch.start, stretch.end).upper(), stretch.reverse) for stretch in window]
    return "".join(alternates.reverse_complement(bases) if reverse else bases for bases, reverse in found)
