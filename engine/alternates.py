"""From windows in bases to requests: on each strand the reference windows, and every alternate as a branch of one of them.

A branch begins at the first changed token, found on the strand that is read, and hangs on the reference window it has most in
common with, so that the engine computes what both share once. Byte pairs may be merged otherwise before the first changed base
already. An alternate without a changed token is the reference window itself.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.errors import UnsupportedAllele, UnsupportedTokenizer
from engine.protocols import AMBIGUOUS, BASES, EQUAL, PADDED, TRIMMED, UNKNOWN, UNSCORED, Kind, Strand
from engine.request import Branch, Choice, Score, Sharing
from engine.tokenizers.interface import Encoded, Tokenizer

_COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
_BASES = frozenset(BASES)


@dataclass(frozen=True, slots=True)
class Windows:
    """Bases in upper case, as many in each window. In the first of them the change stands after `offset` bases, `changed` long."""

    references: Sequence[str]
    alternates: Sequence[str]
    offset: int
    changed: int


@dataclass(frozen=True, slots=True)
class Requested:
    """The scores of some windows in the order of `VariantPlan.requests`, and what has to be said of them, by its names there."""

    requests: tuple[Score, ...]
    flags: frozenset[str]
    phases: tuple[int, ...]
    bases: int
    unknown: int


def reverse_complement(bases: str) -> str:
    """The other strand, IUPAC codes included; other characters stay themselves."""
    return bases.translate(_COMPLEMENT)[::-1]


def directions(strand: Strand) -> tuple[bool, ...]:
    """Whether to read in reverse, once for each strand that is asked for; forward first."""
    return {"forward": (False,), "reverse": (True,), "average": (False, True)}[strand]


def is_ambiguous(bases: str) -> bool:
    """Whether upper-case `bases` hold anything but A, C, G and T."""
    return not _BASES.issuperset(bases)


def even_width(tokenizer: Tokenizer, protocol: Kind) -> int:
    """Bases a token, for a protocol that needs to know. UnsupportedTokenizer where tokens differ."""
    if tokenizer.width is None:
        raise UnsupportedTokenizer(
            f"{protocol} needs tokens of one width: this model's are merged pairs of bases (BPE), which need not end where an "
            "allele begins, so its probability is no sum over them; score variants centred"
        )
    return tokenizer.width


def beginning_with(bases: str, tokenizer: Tokenizer) -> Choice:
    """Every token that begins with these bases. UnsupportedAllele where there is none."""
    found = tokenizer.beginning_with(bases)
    if not found:
        raise UnsupportedAllele(f"no token of this model begins with {bases}")
    return found if len(found) > 1 else found[0]


def losses(encoded: Encoded) -> set[str]:
    """What a tokenizer could not read as it stood."""
    found = {UNKNOWN: encoded.unknown, TRIMMED: encoded.trimmed, PADDED: encoded.padded}
    return {flag for flag, lost in found.items() if lost}


def requests(windows: Windows, strand: Strand, tokenizer: Tokenizer, sharing: Sharing) -> Requested:
    """Scores of all windows on each strand.

    UnsupportedAllele where a model without anything before a sequence would leave other numbers of bases unscored in one window
    than in another.
    """
    bases = [*windows.references, *windows.alternates]
    flags = {AMBIGUOUS} if any(map(is_ambiguous, bases)) else set()
    flags |= set() if tokenizer.before else {UNSCORED}
    scores: list[Score] = []
    phases, scored, unknown = [], 0, 0
    for reverse in directions(strand):
        read = [tokenizer.encode(reverse_complement(window) if reverse else window) for window in bases]
        flags = flags.union(*map(losses, read))
        unknown = max(unknown, *(len(window.unknown) for window in read))
        scored = len(bases[0]) - _unscored(read, tokenizer)
        place = len(bases[0]) - windows.offset - windows.changed if reverse else windows.offset
        phases.append(_phase(read[0], place))
        tokens = [(*tokenizer.before, *window.ids) for window in read]
        trunks = [Score(window, sharing) for window in tokens[: len(windows.references)]]
        branches = [branch(trunks, window) for window in tokens[len(windows.references) :]]
        flags |= {EQUAL} if any(found in trunks for found in branches) else set()
        scores += [*trunks, *branches]
    return Requested(tuple(scores), frozenset(flags), tuple(phases), scored, unknown)


def _unscored(read: Sequence[Encoded], tokenizer: Tokenizer) -> int:
    """Bases at the beginning of every window that have no probability."""
    if tokenizer.before:
        return 0
    if min(len(window.ids) for window in read) < 2:
        raise UnsupportedAllele("the window is a single token, which a model without anything before a sequence does not score")
    widths = {window.starts[1] for window in read}
    if len(widths) > 1:
        raise UnsupportedAllele(
            f"the first tokens of the windows hold {' and '.join(map(str, sorted(widths)))} bases, and a model without anything "
            "before a sequence does not score them: the sums would be of unequal stretches"
        )
    return widths.pop()


def _phase(read: Encoded, place: int) -> int:
    """Bases of its token before a base."""
    return place - read.starts[bisect.bisect_right(read.starts, place) - 1]


def branch(trunks: Iterable[Score], tokens: tuple[int, ...]) -> Score:
    """The score of `tokens` as a branch of the trunk that shares most of them; that trunk itself where nothing differs."""
    at, trunk = max(((_first_changed(trunk.tokens, tokens), trunk) for trunk in trunks), key=lambda found: found[0])
    if tokens == trunk.tokens:
        return trunk
    if not 0 < at < min(len(tokens), len(trunk.tokens)):
        return Score(tokens, trunk.sharing)  # nothing in common, or one is the beginning of the other
    return Score(trunk.tokens, trunk.sharing, Branch(at, tokens[at:]))


def _first_changed(trunk: tuple[int, ...], tokens: tuple[int, ...]) -> int:
    shorter = min(len(trunk), len(tokens))
    return next((place for place, (one, other) in enumerate(zip(trunk, tokens, strict=False)) if one != other), shorter)
