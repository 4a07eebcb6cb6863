"""From a vocabulary of words of one length to its tokenizer: single characters, or k-mers."""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import ModelRefused
from engine.tokenizers import letters
from engine.tokenizers.character import CharacterTokenizer
from engine.tokenizers.kmers import KmerTokenizer

_IN_WORDS = letters.BASES + "N"


def of_words(
    symbols: Mapping[str, int], name: str, *, before: tuple[int, ...], eos: int | None, unknown: int | None
) -> CharacterTokenizer | KmerTokenizer:
    """The tokenizer of upper-case symbols, names among them; `name` is the file they came from.

    Characters may be any, words only of A, C, G, T and N: letters of a name such as PAD are no bases.
    """
    widths = {len(symbol) for symbol in symbols if letters.is_bases(symbol)}
    if not widths:
        raise ModelRefused(f"{name} holds no token that is made of A, C, G and T")
    if widths == {1}:
        single = {symbol: number for symbol, number in symbols.items() if len(symbol) == 1}
        if missing := set(letters.BASES) - single.keys():
            raise ModelRefused(f"{name} holds no token for {min(missing)}")
        size = max(number for number in (*single.values(), *before, eos, unknown) if number is not None) + 1
        return CharacterTokenizer(single, size=size, before=before, eos=eos, unknown=unknown)
    words = {symbol: number for symbol, number in symbols.items() if len(symbol) in widths and not symbol.strip(_IN_WORDS)}
    return KmerTokenizer(words, before=before, eos=eos, unknown=unknown, name=name)
