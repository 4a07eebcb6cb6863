"""Plain FASTA for the command line: names and sequences, with a line number in every complaint."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.errors import InvalidRequest

_GZIP = b"\x1f\x8b"


def lines(path: Path) -> Iterator[str]:
    """Lines of a text file, plain, gzip or bgzip, told apart by its first bytes. InvalidRequest for half a file or none of text."""
    with path.open("rb") as file:
        compressed = file.read(len(_GZIP)) == _GZIP
    try:
        with gzip.open(path, "rt", encoding="utf-8") if compressed else path.open(encoding="utf-8") as text:
            yield from text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidRequest(f"{path} is not whole: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path} is not a text file") from error


def contigs(path: Path, names: Iterable[str]) -> dict[str, str]:
    """The sequences of these names, as far as the file holds them. InvalidRequest where it holds two of one name."""
    wanted, found = set(names), dict[str, str]()
    for name, sequence in records(lines(path)):
        if name in found:
            raise InvalidRequest(f"{path} holds two sequences named {name}")
        if name in wanted:
            found[name] = sequence
    return found


def records(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """`(name, sequence)` per record; InvalidRequest says what is wrong and on which line."""
    name: str | None = None
    parts: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith(">"):
            if name is not None:
                yield _record(name, parts, number)
            name, parts = text[1:].split(maxsplit=1)[0] if text[1:].strip() else f"line_{number}", []
        elif text and name is None:
            raise InvalidRequest(f"line {number}: a FASTA file begins with '>'")
        elif text:
            if not text.isalpha():
                raise InvalidRequest(f"line {number}: a sequence holds letters only")
            parts.append(text)
    if name is None:
        raise InvalidRequest("the file holds no sequence")
    yield _record(name, parts, number + 1)


def _record(name: str, parts: list[str], number: int) -> tuple[str, str]:
    if not parts:
        raise InvalidRequest(f"line {number - 1}: record {name} holds no sequence")
    return name, "".join(parts)
