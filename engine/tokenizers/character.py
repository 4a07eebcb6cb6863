"""One character, one token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.errors import UnknownSymbol
from engine.tokenizers import letters as letters_
from engine.tokenizers.interface import Encoded


class CharacterTokenizer:
    """`letters` maps single characters, in upper case, to ids; `unknown` stands for every other character, which is reported."""

    width = 1

    def __init__(
        self, letters: Mapping[str, int], *, size: int, before: tuple[int, ...], eos: int | None, unknown: int | None
    ) -> None:
        self._ids = dict(letters)
        self._letters = {number: letter for letter, number in letters.items()}
        self._unknown = unknown
        self.before, self.eos, self.size = before, eos, size

    def encode(self, bases: str) -> Encoded:
        """One id a character. UnknownSymbol for one without an id where nothing stands for "unknown"."""
        text = letters_.upper(bases)
        strange = set(text) - self._ids.keys()
        unknown = tuple(place for place, symbol in enumerate(text) if symbol in strange) if strange else ()
        if unknown and self._unknown is None:
            raise UnknownSymbol(f"{text[unknown[0]]!r} at position {unknown[0] + 1} is not in the vocabulary")
        known = {symbol: self._ids.get(symbol, self._unknown or 0) for symbol in set(text)}
        return Encoded(tuple(map(known.__getitem__, text)), range(len(text) + 1), unknown)

    def decode(self, ids: Sequence[int]) -> str:
        """Characters of the ids; names such as eos give nothing."""
        return "".join(self._letters.get(number, "") for number in ids)

    def beginning_with(self, bases: str) -> tuple[int, ...]:
        """The id of the one character, if it has one."""
        return (self._ids[bases],) if bases in self._ids else ()
