"""What kind of file an attachment is: by what is in it, never by its name."""

import codecs
from collections.abc import Iterable
from dataclasses import dataclass

from casefile.errors import BadFile


@dataclass(frozen=True)
class Recognised:
    """A kind of file that may be attached."""

    media_type: str
    ending: str


PDF = Recognised("application/pdf", "pdf")
PNG = Recognised("image/png", "png")
JPEG = Recognised("image/jpeg", "jpg")
TEXT = Recognised("text/plain", "txt")
ENDINGS = {kind.media_type: kind.ending for kind in (PDF, PNG, JPEG, TEXT)}
_BEGINNINGS = ((b"%PDF-", PDF), (b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG))
_LAYOUT = frozenset("\t\n\r\f")
REFUSED = "Only PDF, PNG, JPEG and plain text can be attached; this file is none of them, whatever its name says."
MARKUP = "This is a page of markup (HTML, SVG or XML), not plain text. Attach it as PDF or as a picture."


def recognise(chunks: Iterable[bytes]) -> Recognised:
    """The kind of a file, all of which is read only where it may be text. Raises `BadFile` for any other kind, and for nothing."""
    pieces = iter(chunks)
    first = b""
    while len(first) < 16 and (piece := next(pieces, None)) is not None:
        first += piece
    if not first:
        raise BadFile("The file is empty.", code="attachment.empty")
    for beginning, kind in _BEGINNINGS:
        if first.startswith(beginning):
            return kind
    _read_as_text(first, pieces)
    return TEXT


def _read_as_text(first: bytes, rest: Iterable[bytes]) -> None:
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    try:
        start = decode(first)
        if start.lstrip().startswith("<"):
            raise BadFile(MARKUP, code="attachment.markup")
        _no_control_characters(start)
        for chunk in rest:
            _no_control_characters(decode(chunk))
        decode(b"", True)
    except UnicodeDecodeError as error:
        raise BadFile(REFUSED, code="attachment.kind") from error


def _no_control_characters(text: str) -> None:
    if any((ord(letter) < 32 and letter not in _LAYOUT) or 127 <= ord(letter) < 160 for letter in text):
        raise BadFile(REFUSED, code="attachment.kind")
