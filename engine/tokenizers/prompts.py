"""Bases that something is asked after: cut so that the last of them is the last of a token, and nothing else stands behind it.

A continuation, a next token and a pooled state go on from the last base. Letters that a tokenizer fills a last word up with would
stand between, so what makes no whole word is left out on the left instead, as a score of a plain sequence leaves it out.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.tokenizers.interface import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens, with what stands before every sequence, and what was lost: places count the given bases from 0."""

    tokens: tuple[int, ...]
    trimmed: int  # bases at the left end that no token holds
    unknown: tuple[int, ...]  # places of bases that the model does not see


def prompt(bases: str, tokenizer: Tokenizer) -> Prompt:
    """The tokens to go on from. UnknownSymbol where the tokenizer has no way to say "unknown"."""
    over = len(bases) % (tokenizer.width or 1)
    encoded = tokenizer.encode(bases[over:])
    unknown = tuple(over + place for place in encoded.unknown)
    return Prompt((*tokenizer.before, *encoded.ids), over + encoded.trimmed, unknown)
