"""Letters of a sequence: one case for all models, and never another number of characters than was given."""

from __future__ import annotations

import string

BASES = "ACGT"
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_LETTERS = frozenset(string.ascii_uppercase)
_MARKS = "_▁Ġ"  # before a token: a read or a word begins here


def upper(text: str) -> str:
    """a to z in upper case, everything else as it is: `str.upper` makes two letters of some, and every place behind them wrong."""
    return text.upper() if text.isascii() else text.translate(_UPPER)


def lower(text: str) -> str:
    """A to Z in lower case, for vocabularies that are."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def bases_of(token: str) -> str:
    """The letters of a token in upper case, without marks of beginnings; nothing where it holds anything else: a name."""
    bases = upper(token.lstrip(_MARKS))
    return bases if _LETTERS.issuperset(bases) else ""


def is_bases(token: str) -> bool:
    """Whether a token is made of A, C, G and T alone."""
    return bool(token) and not token.strip(BASES)
