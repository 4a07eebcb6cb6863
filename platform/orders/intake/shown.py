"""Text of a file as a person may see it: decoded, without control characters, cut to length."""

from __future__ import annotations

LONGEST = 60
STORED = 1_000


def shown(text: str | bytes, longest: int = LONGEST) -> str:
    """Quotable in a sentence; whatever is not printable becomes an escape, so that nothing hides in it."""
    if isinstance(text, bytes):
        text = text[: 4 * longest + 4].decode("utf-8", "backslashreplace")
    cut = text[:longest]
    printable = cut if cut.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
    return printable + "…" if len(text) > longest else printable


def stored(text: str | bytes) -> str:
    """The same for a column of a verdict: long, but bounded, and free of what a database refuses (NUL)."""
    return shown(text, STORED)


def character(byte: int) -> str:
    """One byte by name: a person cannot see a tab or a NUL."""
    names = {0: "NUL", 9: "a tab", 11: "a vertical tab", 13: "a carriage return", 32: "a space", 127: "DEL"}
    if byte in names:
        return names[byte]
    return f"“{chr(byte)}”" if 32 < byte < 127 else f"byte 0x{byte:02x}"
