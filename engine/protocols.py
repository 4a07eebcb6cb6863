"""Named scoring protocols and the nouns of planning. What a protocol does is in `windows` and the modules it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from engine.errors import InvalidRequest
from engine.request import Request, Score
from engine.tokenizers.interface import Tokenizer

Kind = Literal["centred", "grid-centred", "right-end", "region-scan"]
Strand = Literal["forward", "reverse", "average"]
ScoredAs = Literal["windows", "next-token", "chained", "marginalised", "whole", "breakpoints"]
Fetch = Callable[[int, int], str]  # reference bases of [start, end), 0-based, within the contig

BASES = "ACGT"
CUT_LEFT, CUT_RIGHT = "window_cut_left", "window_cut_right"  # the contig ended before the window did
AMBIGUOUS = "ambiguous_bases"  # the window holds bases other than A, C, G and T
UNKNOWN = "unknown_tokens"  # bases inside tokens that stand for "unknown"
EQUAL = "equal_windows"  # an alternate window has the tokens of a reference window, so the model cannot tell them apart
ROUNDED = "window_rounded"  # the protocol's window holds no whole number of tokens: a shorter one was read
TRIMMED = "bases_trimmed"  # bases at an end that fill no token were left out
PADDED = "bases_padded"  # the tokenizer added letters behind the last base
UNSCORED = "first_token_unscored"  # nothing stands before a sequence of this model, so its first token has no probability
NO_REFERENCE_BASE = "no_reference_base"  # the reference holds none of A, C, G and T at a scanned site, so there is no Δ
FLAGS = (CUT_LEFT, CUT_RIGHT, AMBIGUOUS, UNKNOWN, EQUAL, ROUNDED, TRIMMED, PADDED, UNSCORED, NO_REFERENCE_BASE)


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a change becomes windows. InvalidRequest for settings that contradict each other.

    `centred`: both windows hold `window` bases with the alleles at their middle; Δ = log P(alt window) - log P(ref window).
    `grid-centred`: the same sums, but windows start at multiples of `grid`, so that neighbours share one reference window.
    `right-end`: the window ends with the allele; Δ = log P(alt | left context) - log P(ref | left context).
    `region-scan`: every site of a region, with a left context of `window` to 2 · `window` bases.
    """

    kind: Kind = "centred"
    window: int = 512  # bases, without what stands before a sequence
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


def fitted(protocol: Protocol, tokenizer: Tokenizer) -> Protocol:
    """The protocol with its window rounded down to whole tokens. InvalidRequest where it holds none."""
    width = tokenizer.width or 1
    window = protocol.window - protocol.window % width
    if window == 0:
        raise InvalidRequest(f"a window of {protocol.window} bases holds no token of {width} bases")
    return protocol if window == protocol.window else replace(protocol, window=window)


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """What to compute, strand by strand, the forward one first: reference windows, then alternates. Equal windows are equal."""

    requests: tuple[Request, ...]
    flags: tuple[str, ...]
    scored_as: ScoredAs = "windows"
    strands: int = 1
    references: int = 1  # reference windows of one strand
    passed: int = 0  # scored tokens at the beginning of each window that are no bases
    counted: int | None = None  # only this many tokens at the end of each window count; None: all
    window: int = 0  # bases of each window
    bases: int = 0  # of which the probability counts, in each window
    offset: int | None = None  # bases of the window before REF, on the forward strand
    grid: int | None = None
    phases: tuple[int, ...] = ()  # on each strand, bases of its token before the first base of REF that is read
    trimmed: int = 0  # bases left out where the contig cut a window, because they filled no token
    unknown: int = 0  # bases inside tokens for "unknown", in the window that has most


@dataclass(frozen=True, slots=True)
class VariantScore:
    """Summed natural-log likelihoods: means over strands, and over the windows of one side where there are several.

    `delta` is the exact sum of all per-token differences, rounded once, so it can differ from `ll_alt - ll_ref` in the last bit.
    What has the name of a field of `VariantPlan` means the same.
    """

    ll_ref: float
    ll_alt: float
    delta: float
    tokens: int  # scored tokens of the first reference window
    flags: tuple[str, ...]
    scored_as: ScoredAs = "windows"
    offset: int | None = None
    grid: int | None = None
    alt_tokens: int = 0  # scored tokens of the first alternate window: another number where tokens differ in width
    ref_per_token: float = 0.0  # mean log-probability of all scored tokens of the reference windows, on all strands
    alt_per_token: float = 0.0
    window: int = 0
    bases: int = 0
    phases: tuple[int, ...] = ()
    trimmed: int = 0
    unknown: int = 0

    @property
    def delta_per_base(self) -> float:
        """Δ over the bases of a window whose probability counts; both sides have as many."""
        return self.delta / self.bases


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """The score of a plain sequence; `unknown` are the 0-based places of bases inside tokens for "unknown"."""

    requests: tuple[Score, ...]
    unknown: tuple[int, ...]
    flags: tuple[str, ...]
    bases: int  # of which the probability counts
    passed: tuple[int, ...] = (0,)  # for each request, scored tokens at its beginning that do not count, or not again
    window: int | None = None  # tokens; None: whole
    trimmed: int = 0  # bases at the beginning that fill no token


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """Summed natural-log likelihood, and its means over the bases and the tokens that count."""

    total: float
    mean: float  # per base
    bases: int
    unknown: tuple[int, ...]
    flags: tuple[str, ...]
    window: int | None = None
    tokens: int = 0
    per_token: float = 0.0
    trimmed: int = 0


@dataclass(frozen=True, slots=True)
class Pass:
    """One reading of a stretch of a region; `context` and the two places count in the direction of reading."""

    first: int  # 0-based, the site of the lowest coordinate
    sites: int
    context: int  # bases read before the first site
    reverse: bool
    ambiguous_from: int | None  # the first base read that is none of A, C, G and T
    unknown_from: int | None  # the first base read that is inside a token for "unknown"


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """The passes over a region and a request for each; `reference` are its bases, upper-case, from `start` (0-based) on.

    The sites of a pass lie `width` bases apart, those of the `width` passes over a stretch between each other.
    """

    requests: tuple[Score, ...]
    passes: tuple[Pass, ...]
    start: int
    reference: str
    window: int
    width: int = 1
    strands: int = 1
    flags: tuple[str, ...] = ()  # of every site

    @property
    def tokens_per_site(self) -> float:
        """Positions to compute for each site; the last token of a score is never computed."""
        return sum(len(request.tokens) - 1 for request in self.requests) / len(self.reference)


@dataclass(frozen=True, slots=True)
class SiteScore:
    """One site: log P of A, C, G and T in its place (over the full vocabulary, so they add up to at most 1), mean of the strands.

    `deltas` are log P(base) - log P(reference base) in the same order, exact and rounded once; none where the reference has no
    base. There are neither where nothing stands before the site on one of the strands, which a flag says.
    """

    position: int  # 1-based
    reference: str
    logprobs: tuple[float, ...]
    deltas: tuple[float, ...]
    context: int  # bases read before the site; of two strands the smaller
    flags: tuple[str, ...]
