"""Reading the files of a tokenizer as data: whatever they hold, the answer is content or one sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelRefused

LARGEST = 64 << 20  # bytes; the tokenizers of the largest language models have a quarter of it
_IDS = 1 << 24  # far above any vocabulary
# Whatever may change an id, what stands before a sequence, or where one ends. `config.json` has a digest of its own.
THAT_CHANGE_IDS = (
    "added_tokens.json",
    "dna_config.json",
    "generation_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)


def there(folder: Path, name: str) -> bool:
    """Whether a folder has a regular file of this name, or a link that leads to one of its own.

    ModelRefused for a link that leads nowhere or out of the folder, and for what is no file. A folder that was cloned may link to
    any file of this machine. Only the caches of Hugging Face are made of links: from `snapshots/<revision>` to `blobs`.
    """
    path = folder / name
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if not target.exists():
            raise ModelRefused(f"{name} is a link that leads nowhere; fetch the folder again")
        if not _owns(Path(os.path.realpath(folder)), target):
            raise ModelRefused(f"{name} is a link out of the folder, to {target}; copy the files themselves, as cp -L does")
    if path.exists() and not path.is_file():
        raise ModelRefused(f"{name} cannot be read: it is no regular file")  # a pipe would be waited for without end
    return path.exists()


def _owns(folder: Path, target: Path) -> bool:
    """Whether a file without links in its path lies in the folder, or among the blobs of the download it is a snapshot of."""
    if target.is_relative_to(folder):
        return True
    return folder.parent.name == "snapshots" and target.parent == folder.parent.parent / "blobs"


def present(folder: Path) -> list[Path]:
    """The files of a folder that its tokenizer depends on, by name."""
    return [folder / name for name in THAT_CHANGE_IDS if there(folder, name)]


def text(folder: Path, name: str) -> str:
    """UTF-8 text. ModelRefused for a file that is missing, too large, no file at all, or no text."""
    path = folder / name
    try:
        if not there(folder, name):
            raise ModelRefused(f"{name} is missing")
        if path.stat().st_size > LARGEST:
            raise ModelRefused(f"{name} is larger than {LARGEST >> 20} MB, which no tokenizer needs")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelRefused(f"{name} is not UTF-8 text") from error
    except OSError as error:
        raise ModelRefused(f"{name} cannot be read: {error.strerror}") from error


def json_object(folder: Path, name: str) -> dict[str, Any]:
    """A JSON object, strictly: no NaN and no key twice, since only one of two equal keys would be seen."""
    try:
        found = json.loads(text(folder, name), parse_constant=_no_number, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError) as error:
        raise ModelRefused(f"{name} is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise ModelRefused(f"{name} holds no object")
    return found


def json_object_if_there(folder: Path, name: str) -> dict[str, Any]:
    """As `json_object`; empty where there is no such file."""
    return json_object(folder, name) if there(folder, name) else {}


def vocabulary(found: object, name: str) -> dict[str, int]:
    """Symbols and their ids, checked: whole numbers from 0, each once. ModelRefused names the file and the fault."""
    if not isinstance(found, Mapping) or not found:
        raise ModelRefused(f"{name} does not map symbols to ids")
    symbols: dict[str, int] = {}
    seen: dict[int, str] = {}
    for symbol, number in found.items():
        if type(number) is not int or not 0 <= number < _IDS:  # bool is an int, and no id
            raise ModelRefused(f"{name} does not map symbols to ids: that of {symbol!r} is {str(number)[:40]}")
        if number in seen:
            raise ModelRefused(f"{name} gives two symbols the same id: {seen[number]!r} and {symbol!r} are both {number}")
        if not _is_text(symbol):
            raise ModelRefused(f"{name} holds a symbol that is no text: {symbol!r}")
        symbols[symbol] = number
        seen[number] = symbol
    return symbols


def _is_text(symbol: str) -> bool:
    """Whether a symbol is Unicode text: JSON can escape halves of surrogate pairs, which are none."""
    return not any("\ud800" <= character <= "\udfff" for character in symbol)


def _no_number(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key {twice([key for key, _ in pairs])[:40]!r} stands twice in one object")
    return found


def twice(names: Iterable[str]) -> str:
    """The first name that was there before; empty where all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""
