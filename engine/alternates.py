"""From windows in bases to requests: on each strand the reference windows, and every alternate as a branch of one of them.

A branch begins at the first changed token, found on the strand that is read, and hangs on the reference window it has most in
common with, so that the engine computes what both share once. An alternate without a changed token is the reference window
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.errors import UnsupportedTokenizer
from engine.protocols import AMBIGUOUS, BASES, UNKNOWN, Strand, Tokenizes
from engine.request import Branch, Score, Sharing
from engine.tokenizers.interface import Encoded

_COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
_BASES = frozenset(BASES)


def reverse_complement(bases: str) -> str:
    """The other strand, IUPAC codes included; other characters stay themselves."""
    return bases.translate(_COMPLEMENT)[::-1]


def directions(strand: Strand) -> tuple[bool, ...]:
    """Whether to read in reverse, once for each strand that is asked for; forward first."""
    return {"forward": (False,), "reverse": (True,), "average": (False, True)}[strand]


def encoded(bases: str, tokenizer: Tokenizes) -> Encoded:
    """Ids of bases, one for each. UnsupportedTokenizer where k-mers or merged pairs of bases make other tokens."""
    found = tokenizer.encode(bases)
    if len(found.ids) != len(bases):
        raise UnsupportedTokenizer(
            f"the tokenizer makes {len(found.ids)} tokens of {len(bases)} bases; variants and regions need one token a base"
        )
    return found


def is_ambiguous(bases: str) -> bool:
    """Whether upper-case `bases` hold anything but A, C, G and T."""
    return not _BASES.issuperset(bases)


def requests(
    references: Sequence[str], alternates: Sequence[str], strand: Strand, tokenizer: Tokenizes, sharing: Sharing
) -> tuple[tuple[Score, ...], frozenset[str]]:
    """Scores of equally long windows in upper case, and what has to be said of them. Order: that of `VariantPlan.requests`."""
    windows = [*references, *alternates]
    flags = {AMBIGUOUS} if any(map(is_ambiguous, windows)) else set()
    scores: list[Score] = []
    for reverse in directions(strand):
        read = [encoded(reverse_complement(window) if reverse else window, tokenizer) for window in windows]
        flags |= {UNKNOWN} if any(window.unknown for window in read) else set()
        tokens = [(*tokenizer.before, *window.ids) for window in read]
        trunks = [Score(window, sharing) for window in tokens[: len(references)]]
        scores += [*trunks, *(branch(trunks, window) for window in tokens[len(references) :])]
    return tuple(scores), frozenset(flags)


def branch(trunks: Iterable[Score], tokens: tuple[int, ...]) -> Score:
    """The score of `tokens` as a branch of the trunk that shares most of them; that trunk itself where nothing differs."""
    at, trunk = max(((_first_changed(trunk.tokens, tokens), trunk) for trunk in trunks), key=lambda found: found[0])
    return trunk if at == len(tokens) else Score(trunk.tokens, trunk.sharing, Branch(at, tokens[at:]))


def _first_changed(trunk: tuple[int, ...], tokens: tuple[int, ...]) -> int:
    return next((place for place, (one, other) in enumerate(zip(trunk, tokens, strict=True)) if one != other), len(tokens))
