"""The header of a VCF: version, contig lengths, sample columns, and which sample the verdicts speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.lines import Fragment
from orders.intake.reference import ReferenceView
from orders.intake.shown import shown, stored
from orders.intake.verdicts import Tally

FIXED_COLUMNS = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO")
FORMAT_COLUMN = len(FIXED_COLUMNS)
LONGEST_NAME = 255  # characters of a sample name
_FILEFORMAT = b"##fileformat="
_VERSION = re.compile(r"VCFv4\.[0-5]\Z")
_CONTIG_ID = re.compile(rb"[<,]\s*ID=([^,>]+)")
_CONTIG_LENGTH = re.compile(rb"[<,]\s*length=([0-9]{1,12})\s*[,>]")
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
LENGTH_UNKNOWN = 2**31 - 1  # what htslib writes where nobody told it the length
NAMED_AT_MOST = 30


@dataclass(frozen=True)
class Header:
    columns: int  # every record has as many
    sample_column: int | None  # None where the file has no samples


@dataclass
class _LengthCheck:
    """Declared contig lengths beside those of the reference."""

    reference: ReferenceView
    tally: Tally
    first: tuple[int, str] | None = None  # line and words of the first contradiction

    def read(self, line: int, data: bytes) -> None:
        data = _QUOTED.sub(b'""', data)  # what somebody wrote about a contig is no key of it
        name, length = _CONTIG_ID.search(data), _CONTIG_LENGTH.search(data)
        if not name or not length:
            return
        contig = self.reference.resolve(name[1].decode("utf-8", "backslashreplace").strip())
        if contig is None:
            return
        declared, actual = int(length[1]), self.reference.contigs[contig].length
        if declared == LENGTH_UNKNOWN:
            return
        found = self.tally.lengths_matched if declared == actual else self.tally.lengths_contradicting
        if contig not in found:
            found.append(contig)
        if declared != actual and self.first is None:
            words = f"{shown(name[1])} has {declared:,} bases in the header, {actual:,} in the reference"
            self.first = (line, words)

    def require_agreement(self) -> None:
        if self.first is None:
            return
        line, words = self.first
        reason = FileReason.VCF_MIXED_REFERENCE if self.tally.lengths_matched else FileReason.VCF_WRONG_REFERENCE
        raise FileRefused(reason, at_line=line, reference=self.reference.name, detail=words)


def read_header(lines: Iterator[Fragment], *, reference: ReferenceView, sample: str | None, tally: Tally) -> Header:
    """Read up to and with the #CHROM line; raises FileRefused where no record could be understood."""
    size, lengths = 0, _LengthCheck(reference, tally)
    for fragment in lines:
        data = fragment.data
        size += len(data)
        if size > tally.limits.max_header:
            raise FileRefused(FileReason.VCF_HEADER_TOO_LARGE, at_line=fragment.line, limit=f"{tally.limits.max_header:,}")
        if not data.strip():
            tally.note(FileReason.FILE_BLANK_LINES, fragment.line)
        elif data.startswith(b"##"):
            _meta_line(fragment, lengths, tally)
        elif data.startswith(b"#"):
            header = _column_line(fragment, sample, tally)
            lengths.require_agreement()
            return header
        else:
            raise FileRefused(FileReason.VCF_NO_HEADER, at_line=fragment.line)
    raise FileRefused(FileReason.VCF_NO_HEADER, at_line=tally.lines or None)


def note_encoding(data: bytes, line: int, tally: Tally) -> None:
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            tally.note(FileReason.FILE_NOT_UTF8, line)


def _meta_line(fragment: Fragment, lengths: _LengthCheck, tally: Tally) -> None:
    note_encoding(fragment.data, fragment.line, tally)
    if fragment.data.startswith(_FILEFORMAT):
        version = fragment.data[len(_FILEFORMAT) :].decode("utf-8", "backslashreplace").strip()
        if not _VERSION.match(version):
            raise FileRefused(FileReason.VCF_VERSION, at_line=fragment.line, version=shown(version))
    elif fragment.line == 1:
        tally.note(FileReason.VCF_NO_FILEFORMAT, 1)
    if fragment.data.startswith(b"##contig="):
        lengths.read(fragment.line, fragment.data)


def _column_line(fragment: Fragment, sample: str | None, tally: Tally) -> Header:
    if fragment.line == 1:
        tally.note(FileReason.VCF_NO_FILEFORMAT, 1)
    note_encoding(fragment.data, fragment.line, tally)
    names = [stored(name) for name in fragment.data.split(b"\t")]
    fault = _column_fault(names)
    if fault:
        raise FileRefused(FileReason.VCF_COLUMN_LINE, at_line=fragment.line, detail=fault)
    tally.samples = tuple(names[FORMAT_COLUMN + 1 :])
    tally.sample = _choose(tally.samples, sample, fragment.line, tally)
    if tally.sample is None:
        return Header(len(names), None)
    return Header(len(names), FORMAT_COLUMN + 1 + tally.samples.index(tally.sample))


def _column_fault(names: list[str]) -> str | None:
    fixed = tuple(names[:FORMAT_COLUMN])
    if fixed != FIXED_COLUMNS:
        if len(names) < FORMAT_COLUMN and " ".join(names).split()[:FORMAT_COLUMN] == list(FIXED_COLUMNS):
            return "its columns are separated by spaces, not by tabs"
        return f"it must begin with {' '.join(FIXED_COLUMNS)}, separated by tabs"
    if len(names) > FORMAT_COLUMN and names[FORMAT_COLUMN] != "FORMAT":
        return f"column 9 is “{shown(names[FORMAT_COLUMN])}”, not FORMAT"
    if not all(names[FORMAT_COLUMN:]):
        return "a sample column has no name"
    if any(len(name) > LONGEST_NAME for name in names[FORMAT_COLUMN + 1 :]):
        return f"the name of a sample is longer than {LONGEST_NAME} characters"
    return None


def _choose(samples: tuple[str, ...], sample: str | None, line: int, tally: Tally) -> str | None:
    """The sample asked for, or the only one there is; never a guess between several."""
    seen: set[str] = set()
    for name in samples:
        if name in seen:
            raise FileRefused(FileReason.VCF_DUPLICATE_SAMPLE, at_line=line, sample=shown(name))
        seen.add(name)
    if sample is not None and sample not in seen:
        raise FileRefused(FileReason.VCF_UNKNOWN_SAMPLE, at_line=line, sample=shown(sample), samples=_listed(samples))
    if sample is None and len(samples) > 1:
        raise FileRefused(FileReason.VCF_SAMPLE_CHOICE, at_line=line, count=len(samples), samples=_listed(samples))
    if not samples:
        tally.note(FileReason.VCF_SITES_ONLY, line)
        return None
    return sample if sample is not None else samples[0]


def _listed(samples: tuple[str, ...]) -> str:
    named = ", ".join(shown(name) for name in samples[:NAMED_AT_MOST]) or "no sample at all"
    more = len(samples) - NAMED_AT_MOST
    return f"{named} and {more} more" if more > 0 else named
