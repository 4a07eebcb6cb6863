"""Symbolic deletions, duplications and inversions that END describes: the reference holds every base of them."""

from __future__ import annotations

import re

from foundation.file_reasons import FileReason

KINDS = {FileReason.VCF_ALT_DELETION, FileReason.VCF_ALT_DUPLICATION, FileReason.VCF_ALT_INVERSION}
_NUMBER = re.compile(rb"\d{1,10}\Z")


def end_of(info: bytes, position: int, index: int) -> int | None:
    """The last base of an event, 1-based: END, else what SVLEN of this ALT makes of it; None where neither is a number.

    `index` counts ALT from 1. The command line reads them in the same way.
    """
    items = dict(item.partition(b"=")[::2] for item in info.split(b";"))
    end = _number(items.get(b"END", b""))
    lengths = items.get(b"SVLEN", b"").split(b",")
    length = _number(lengths[min(index, len(lengths)) - 1].removeprefix(b"-"))
    return end if end is not None or length is None else position + length


def contradicts(info: bytes) -> bool:
    """Whether END or SVLEN stands there twice, with different values: which one is meant is not for us to guess."""
    said = {item for item in info.split(b";") if item.startswith((b"END=", b"SVLEN="))}
    return len(said) > len({item.partition(b"=")[0] for item in said})


def fault(position: int, end: int | None, *, contig_length: int, longest: int) -> FileReason | None:
    """Why an event cannot be scored; None where it can."""
    if end is None:
        return FileReason.VCF_END_MISSING
    if end <= position:
        return FileReason.VCF_END_NOT_BEHIND
    if end > contig_length:
        return FileReason.VCF_END_PAST_CONTIG
    return FileReason.VCF_EVENT_TOO_LONG if end - position > longest else None


def _number(digits: bytes) -> int | None:
    return int(digits) if _NUMBER.match(digits) else None
