"""Sequences of a FASTA file, with a line number in every complaint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.errors import InvalidRequest


def records(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """`(name, sequence)` per record; InvalidRequest says what is wrong and on which line."""
    name: str | None = None
    parts: list[str] = []
    number = 0
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
