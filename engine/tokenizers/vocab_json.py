"""`vocab.json`: an object of characters and names (`bos`, `eos`, `unk`) and their ids, as the bundled model has it."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelRefused
from engine.tokenizers import files, letters
from engine.tokenizers.character import CharacterTokenizer

FILE = "vocab.json"


def from_folder(folder: Path) -> CharacterTokenizer:
    """Read `vocab.json`. One without a base would make it "unknown" wherever it stands."""
    symbols = files.vocabulary(files.json_object(folder, FILE), FILE)
    if missing := set(letters.BASES) - symbols.keys():
        raise ModelRefused(f"{FILE} holds no token for {min(missing)}; sequences are read in upper case")
    return from_symbols(symbols)


def from_symbols(symbols: dict[str, int]) -> CharacterTokenizer:
    """The tokenizer of a checked vocabulary. A character without an id becomes `unk`, else `N`."""
    if "bos" not in symbols:
        raise ModelRefused(f"{FILE} names no bos; scoring without it is another number")
    return CharacterTokenizer(
        {symbol: number for symbol, number in symbols.items() if len(symbol) == 1},
        size=max(symbols.values()) + 1,
        before=(symbols["bos"],),
        eos=symbols.get("eos"),
        unknown=symbols.get("unk", symbols.get("N")),
    )
