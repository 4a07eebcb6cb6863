"""Named scoring protocols and the nouns of planning. What a protocol does is in `windows` and the modules it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args
from typing import Protocol as Interface

from engine.errors import InvalidRequest
from engine.request import Request, Score
from engine.tokenizers.interface import Encoded

Kind = Literal["centred", "grid-centred", "right-end", "region-scan"]
Strand = Literal["forward", "reverse", "average"]
ScoredAs = Literal["windows", "next-token", "chained", "whole", "breakpoints"]
Fetch = Callable[[int, int], str]  # reference bases of [start, end), 0-based, within the contig

BASES = "ACGT"
CUT_LEFT, CUT_RIGHT = "window_cut_left", "window_cut_right"  # the contig ended before the window did
AMBIGUOUS = "ambiguous_bases"  # the window holds bases other than A, C, G and T
UNKNOWN = "unknown_tokens"  # characters that the tokenizer has no id for
NO_REFERENCE_BASE = "no_reference_base"  # the reference holds none of A, C, G and T at a scanned site, so there is no Δ


class Tokenizes(Interface):
    """What planning needs of a tokenizer."""

    @property
    def before(self) -> tuple[int, ...]:
        """Ids that precede every sequence."""
        ...

    def encode(self, bases: str) -> Encoded:
        """Ids without those before, and the places of unknown characters."""
        ...


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a change becomes windows. InvalidRequest for settings that contradict each other.

    `centred`: both windows hold `window` bases with the alleles at their middle; Δ = log P(alt window) - log P(ref window).
    `grid-centred`: the same sums, but windows start at multiples of `grid`, so that neighbours share one reference window.
    `right-end`: the window ends with the allele; Δ = log P(alt | left context) - log P(ref | left context).
    `region-scan`: every site of a region, with a left context of `window` to 2 · `window` bases.
    """

    kind: Kind = "centred"
    window: int = 512  # bases, without bos
    strand: Strand = "forward"
    grid: int | None = None  # bases; of grid-centred alone

    def __post_init__(self) -> None:
        for name, value, known in (("kind", self.kind, Kind), ("strand", self.strand, Strand)):
            if value not in get_args(known):
                raise InvalidRequest(f"a protocol's {name} is one of {', '.join(get_args(known))}, not {value!r}")
        if type(self.window) is not int or self.window < 2:
            raise InvalidRequest(f"a window holds at least 2 bases, not {self.window!r}")
        if (self.kind == "grid-centred") != (self.grid is not None):
            raise InvalidRequest("grid-centred needs a grid, and no other protocol takes one")
        if self.grid is not None and (type(self.grid) is not int or not 1 <= self.grid <= self.window // 2):
            raise InvalidRequest(f"the grid must be between 1 and half of the window of {self.window} bases, not {self.grid!r}")


@dataclass(frozen=True, slots=True)
class Variant:
    """A change of `ref` to `alt`; `position` is 1-based, that of the first base of `ref`.

    With `alt` `<DEL>`, `<DUP>` or `<INV>` the bases from `position` + 1 to `end` are lost, doubled or turned round.
    """

    contig_length: int
    position: int
    ref: str
    alt: str
    end: int | None = None  # 1-based, included; of symbolic alleles alone


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """What to compute, strand by strand, the forward one first: reference windows, then alternates. Equal windows are equal."""

    requests: tuple[Request, ...]
    flags: tuple[str, ...]
    scored_as: ScoredAs = "windows"
    strands: int = 1
    references: int = 1  # reference windows of one strand
    counted: int | None = None  # only this many tokens at the end of each window count; None: all
    offset: int | None = None  # bases of the window before REF, on the forward strand
    grid: int | None = None


@dataclass(frozen=True, slots=True)
class VariantScore:
    """Summed natural-log likelihoods: means over strands, and over the windows of one side where there are several.

    `delta` is the exact sum of all per-token differences, rounded once, so it can differ from `ll_alt - ll_ref` in the last bit.
    """

    ll_ref: float
    ll_alt: float
    delta: float
    tokens: int  # scored tokens of one window on one strand
    flags: tuple[str, ...]
    scored_as: ScoredAs = "windows"
    offset: int | None = None
    grid: int | None = None


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """The score of a plain sequence; `unknown` are the 0-based places without an id of their own."""

    requests: tuple[Score, ...]
    unknown: tuple[int, ...]
    flags: tuple[str, ...]
    passed: tuple[int, ...] = (0,)  # for each request, scored tokens at its beginning that an earlier one counts
    window: int | None = None  # None: whole


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """Summed and mean natural-log likelihood per base."""

    total: float
    mean: float
    bases: int
    unknown: tuple[int, ...]
    flags: tuple[str, ...]
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """One reading of a stretch of a region; `context` and the two places count in the direction of reading."""

    first: int  # 0-based, the site of the lowest coordinate
    sites: int
    context: int  # bases read before the first site
    reverse: bool
    ambiguous_from: int | None  # the first base read that is none of A, C, G and T
    unknown_from: int | None  # the first base read that the tokenizer has no id for


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """The passes over a region and a request for each; `reference` are its bases, upper-case, from `start` (0-based) on."""

    requests: tuple[Score, ...]
    passes: tuple[Pass, ...]
    start: int
    reference: str
    window: int

    @property
    def tokens_per_site(self) -> float:
        """Positions to compute for each site; the last token of a score is never computed."""
        return sum(len(request.tokens) - 1 for request in self.requests) / len(self.reference)


@dataclass(frozen=True, slots=True)
class SiteScore:
    """One site: log P of A, C, G and T in its place (over the full vocabulary, so they add up to at most 1), mean of the strands.

    `deltas` are log P(base) - log P(reference base) in the same order, exact and rounded once; none where the reference has no
    base.
    """

    position: int  # 1-based
    reference: str
    logprobs: tuple[float, ...]
    deltas: tuple[float, ...]
    context: int  # bases read before the site; of two strands the smaller
    flags: tuple[str, ...]
