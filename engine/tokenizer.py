"""One character, one token: the vocabulary of `vocab.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelRefused, UnknownSymbol

FILE = "vocab.json"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Ids without bos, and the 0-based places whose character has no id of its own."""

    ids: tuple[int, ...]
    unknown: tuple[int, ...]


class CharacterTokenizer:
    """`symbols` maps characters and names (`bos`, `eos`, `unk`) to ids.

    A character without an id becomes `unk`, else `N`, and is reported.
    """

    def __init__(self, symbols: dict[str, int]) -> None:
        if "bos" not in symbols:
            raise ModelRefused(f"{FILE} names no bos; scoring without it is another number")
        self._ids = {symbol: number for symbol, number in symbols.items() if len(symbol) == 1}
        self._symbols = {number: symbol for symbol, number in self._ids.items()}
        self._fallback = symbols.get("unk", symbols.get("N"))
        self.bos = symbols["bos"]
        self.eos = symbols.get("eos")
        self.size = max(symbols.values()) + 1

    @classmethod
    def from_folder(cls, folder: Path) -> CharacterTokenizer:
        """Read `vocab.json`: an object of symbols and ids."""
        try:
            symbols = json.loads((folder / FILE).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ModelRefused(f"{FILE} is missing; only character tokenizers are supported") from error
        except (ValueError, RecursionError) as error:
            raise ModelRefused(f"{FILE} is not valid JSON: {error}") from error
        except OSError as error:
            raise ModelRefused(f"{FILE} cannot be read: {error}") from error
        if not isinstance(symbols, dict) or not all(type(number) is int and number >= 0 for number in symbols.values()):
            raise ModelRefused(f"{FILE} does not map symbols to ids")
        if len(set(symbols.values())) < len(symbols):
            raise ModelRefused(f"{FILE} gives two symbols the same id")
        return cls(symbols)

    def encode(self, text: str) -> Encoded:
        """Upper-cased, one id a character; UnknownSymbol when a character has no id and the vocabulary no way to say so."""
        text = text.upper()
        unknown = tuple(place for place, symbol in enumerate(text) if symbol not in self._ids)
        if unknown and self._fallback is None:
            raise UnknownSymbol(f"{text[unknown[0]]!r} at position {unknown[0] + 1} is not in the vocabulary")
        return Encoded(tuple(self._ids.get(symbol, self._fallback or 0) for symbol in text), unknown)

    def decode(self, ids: Sequence[int]) -> str:
        """Characters of the ids; names such as eos give nothing."""
        return "".join(self._symbols.get(number, "") for number in ids)
