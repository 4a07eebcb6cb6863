"""Named scoring protocols and the nouns of variant scoring. What a protocol does is in `windows`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.request import Score

Strand = Literal["forward", "reverse", "average"]

CUT_LEFT, CUT_RIGHT = "window_cut_left", "window_cut_right"  # the contig ended before the window did
AMBIGUOUS = "ambiguous_bases"  # the window holds bases other than A, C, G and T
UNKNOWN = "unknown_tokens"  # characters that the tokenizer has no id for


@dataclass(frozen=True, slots=True)
class Protocol:
    """`centred`: both windows hold `window` bases with the alleles at their middle; Δ = log P(alt window) - log P(ref window)."""

    kind: Literal["centred"] = "centred"
    window: int = 512  # bases, without bos
    strand: Strand = "forward"


@dataclass(frozen=True, slots=True)
class Variant:
    """A change of `ref` to `alt`; `position` is 1-based, that of the first base of `ref`."""

    contig_length: int
    position: int
    ref: str
    alt: str


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """Scores to compute: reference and alternate window, forward strand first where both are asked. Equal windows are equal."""

    requests: tuple[Score, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariantScore:
    """Summed natural-log likelihoods; with both strands the mean of the two.

    `delta` is the exact sum of all per-token differences, rounded once, so it can differ from `ll_alt - ll_ref` in the last bit.
    """

    ll_ref: float
    ll_alt: float
    delta: float
    tokens: int  # scored tokens of one window on one strand
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """The score of a plain sequence; `unknown` are the 0-based places without an id of their own."""

    requests: tuple[Score, ...]
    unknown: tuple[int, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """Summed and mean natural-log likelihood per base."""

    total: float
    mean: float
    bases: int
    unknown: tuple[int, ...]
    flags: tuple[str, ...]
