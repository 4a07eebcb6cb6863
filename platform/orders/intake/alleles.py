"""What an ALT is made of, and what that means for scoring it."""

from __future__ import annotations

import re

from foundation.file_reasons import FileReason

_BASES = re.compile(rb"[ACGT]+\Z")
_BASES_OR_N = re.compile(rb"[ACGTN]+\Z")
_IUPAC = re.compile(rb"[ACGTNURYSWKMBDHV]+\Z")
_UNSPECIFIED = (b"<*>", b"<NON_REF>", b"<X>")
_SYMBOLIC = {
    b"DEL": FileReason.VCF_ALT_DELETION,
    b"DUP": FileReason.VCF_ALT_DUPLICATION,
    b"INV": FileReason.VCF_ALT_INVERSION,
    b"INS": FileReason.VCF_ALT_INSERTION,
    b"CNV": FileReason.VCF_ALT_COPY_NUMBER,
}
_COPY_NUMBER = re.compile(rb"CN\d+\Z")

_AMBIGUOUS_REFERENCE = str.maketrans("RYSWKMBDHV", "ACCAGACAAA")
"""Where the reference itself has an ambiguity code, REF names the first base of it in the alphabet (VCF 4.5, section 1.6.1)."""


def ref_fault(ref: bytes) -> FileReason | None:
    """Why an upper-case REF can name no bases of the reference; None where it can (N included)."""
    if ref in (b"", b"."):
        return FileReason.VCF_REF_MISSING
    if _BASES_OR_N.match(ref):
        return None
    return FileReason.VCF_REF_IUPAC if _IUPAC.match(ref) else FileReason.VCF_REF_ALPHABET


def alt_fault(ref: bytes, alt: bytes) -> FileReason | None:
    """Why an upper-case ALT is wrong in itself; None for bases and for every form the VCF specification knows."""
    if not alt:
        return FileReason.VCF_ALT_EMPTY
    if _BASES_OR_N.match(alt):
        return FileReason.VCF_ALT_EQUALS_REF if alt == ref else None
    if alt in (b".", b"*") or _is_angled(alt) or is_breakend(alt):
        return None
    return FileReason.VCF_ALT_IUPAC if _IUPAC.match(alt) else FileReason.VCF_ALT_ALPHABET


def alt_parked(alt: bytes) -> FileReason | None:
    """Why a sound, upper-case ALT cannot be scored in this version; None where it can."""
    if _BASES.match(alt):
        return None
    if _BASES_OR_N.match(alt):
        return FileReason.VCF_ALT_UNKNOWN_BASE
    if alt == b".":
        return FileReason.VCF_ALT_MISSING
    if alt == b"*":
        return FileReason.VCF_ALT_STAR
    return _symbolic(alt) if _is_angled(alt) else FileReason.VCF_ALT_BREAKEND


def is_breakend(alt: bytes) -> bool:
    """T[2:3[ and its three sisters, or a single breakend (G. or .G)."""
    if alt.count(b"[") == 2 or alt.count(b"]") == 2:
        return True
    return len(alt) > 1 and (alt[:1] == b".") != (alt[-1:] == b".") and bool(_BASES_OR_N.match(alt.strip(b".")))


def agrees(ref: str, found: str) -> bool:
    return ref == found or ref == found.translate(_AMBIGUOUS_REFERENCE)


def _is_angled(alt: bytes) -> bool:
    return len(alt) > 2 and alt.startswith(b"<") and alt.endswith(b">")


def _symbolic(alt: bytes) -> FileReason:
    if alt in _UNSPECIFIED:
        return FileReason.VCF_ALT_UNSPECIFIED
    kind = alt[1:-1].split(b":")[0]
    if _COPY_NUMBER.match(kind):
        return FileReason.VCF_ALT_COPY_NUMBER
    return _SYMBOLIC.get(kind, FileReason.VCF_ALT_SYMBOLIC)
