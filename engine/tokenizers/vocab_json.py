"""`vocab.json`: an object of characters and names (`bos`, `eos`, `unk`) and their ids, as the bundled model has it."""

from __future__ import annotations

import json
from pathlib import Path

from engine.errors import ModelRefused
from engine.tokenizers.character import CharacterTokenizer

FILE = "vocab.json"


def from_folder(folder: Path) -> CharacterTokenizer:
    """Read `vocab.json`. A character without an id becomes `unk`, else `N`."""
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
    return from_symbols(symbols)


def from_symbols(symbols: dict[str, int]) -> CharacterTokenizer:
    """The tokenizer of a checked vocabulary."""
    if "bos" not in symbols:
        raise ModelRefused(f"{FILE} names no bos; scoring without it is another number")
    return CharacterTokenizer(
        {symbol: number for symbol, number in symbols.items() if len(symbol) == 1},
        size=max(symbols.values()) + 1,
        before=(symbols["bos"],),
        eos=symbols.get("eos"),
        unknown=symbols.get("unk", symbols.get("N")),
    )
