"""Records of a VCF, judged one by one: a verdict for every ALT, in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from foundation.file_reasons import FileReason
from orders.intake import alleles, build_proof, events, genotype
from orders.intake.errors import FileRefused
from orders.intake.genotype import Genotype
from orders.intake.lines import Fragment
from orders.intake.reference import ReferenceView
from orders.intake.shown import character, shown, stored
from orders.intake.vcf_header import FIXED_COLUMNS, FORMAT_COLUMN, Header, note_encoding
from orders.intake.verdicts import BOUNDARY, Boundary, Outcome, Tally, Verdict, Zygosity

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
LONGEST_POSITION = 10  # digits
INFO_COLUMN = 7
QUOTED_BASES = 20


class _Fault(Exception):
    """This record is wrong as a whole; every one of its ALT is refused."""

    def __init__(self, reason: FileReason, **values: object) -> None:
        super().__init__(reason.say(**values))
        self.reason = reason


@dataclass
class _Record:
    """One line, split; `contig` and `position` are known once they were found sound."""

    line: int
    columns: list[bytes]  # padded to the fixed ones
    alts: list[bytes]
    contig: str = ""
    position: int = 0
    ref: bytes = b""  # upper case once found sound
    genotype: Genotype | None = None
    genotype_text: str = ""


class Records:
    """The body of one VCF; iterate `verdicts` once."""

    def __init__(self, header: Header, *, reference: ReferenceView, tally: Tally) -> None:
        self._header = header
        self._reference = reference
        self._tally = tally
        self._sample = shown(tally.sample or "")
        self._last: tuple[str, int] = ("", 0)
        self._left: set[str] = set()  # contigs that records have moved on from

    @property
    def state(self) -> dict[str, Any]:
        """What is remembered from record to record, for `resumed`."""
        return {"last": list(self._last), "left": sorted(self._left)}

    def resumed(self, state: Mapping[str, Any]) -> Self:
        """The same records, as they were left."""
        contig, position = state["last"]
        self._last, self._left = (contig, position), set(state["left"])
        return self

    def verdicts(self, lines: Iterator[Fragment]) -> Iterator[Verdict | Boundary]:
        for fragment in lines:
            if not fragment.data.strip():
                self._tally.note(FileReason.FILE_BLANK_LINES, fragment.line)
            elif fragment.data.startswith(b"#"):
                self._hash_line(fragment)
            else:
                yield from self._judged(fragment)
                yield BOUNDARY
        if not self._tally.records:
            raise FileRefused(FileReason.VCF_NO_RECORDS, at_line=self._tally.lines or None)
        build_proof.conclude(self._reference, self._tally)

    def _hash_line(self, fragment: Fragment) -> None:
        if fragment.data.startswith((b"##fileformat=", b"#CHROM")):
            raise FileRefused(FileReason.VCF_SECOND_HEADER, at_line=fragment.line)
        self._tally.note(FileReason.VCF_COMMENT_LINE, fragment.line)

    def _judged(self, fragment: Fragment) -> Iterator[Verdict]:
        record = self._split(fragment)
        self._tally.count(len(record.alts), line=fragment.line)
        note_encoding(fragment.data, fragment.line, self._tally)
        try:
            self._require_text(fragment.data)
            self._place(record)
            self._compare_ref(record)
            self._read_genotype(record)
        except _Fault as fault:
            for index, alt in enumerate(record.alts, start=1):
                yield _verdict(record, index, alt, Outcome.REFUSED, fault.reason, str(fault))
        else:
            for index, alt in enumerate(record.alts, start=1):
                yield self._allele(record, index, alt)
        build_proof.watch(self._reference, self._tally)

    def _split(self, fragment: Fragment) -> _Record:
        """Only as far as the sample's column: the others may hold thousands of genotypes."""
        needed = self._header.sample_column or FORMAT_COLUMN
        columns = fragment.data.split(b"\t", needed + 1)[: needed + 1]
        alts = columns[4].split(b",") if len(columns) > 4 else [b""]
        columns += [b""] * (FORMAT_COLUMN - len(columns))
        return _Record(fragment.line, columns, alts)

    def _require_text(self, data: bytes) -> None:
        control = _CONTROL.search(data)
        if control:
            raise _Fault(FileReason.VCF_CONTROL_CHARACTER, character=character(control[0][0]))
        found = data.count(b"\t") + 1
        if found != self._header.columns:
            if found < len(FIXED_COLUMNS) and len(data.split()) >= len(FIXED_COLUMNS):
                raise _Fault(FileReason.VCF_SPACES_FOR_TABS)
            raise _Fault(FileReason.VCF_COLUMNS, found=found, expected=self._header.columns)

    def _place(self, record: _Record) -> None:
        submitted = record.columns[0].decode("utf-8", "backslashreplace")
        contig = self._reference.resolve(submitted)
        if contig is None:
            raise _Fault(FileReason.VCF_UNKNOWN_CONTIG, contig=shown(submitted), reference=self._reference.name)
        digits = record.columns[1]
        if not digits.isdigit() or len(digits) > LONGEST_POSITION or int(digits) < 1:
            raise _Fault(FileReason.VCF_POSITION, position=shown(digits))
        record.contig, record.position = contig, int(digits)

    def _note_order(self, record: _Record) -> None:
        contig, position = self._last
        if record.contig != contig:
            self._left.add(contig)
        if record.contig in self._left or (record.contig == contig and record.position < position):
            self._tally.note(FileReason.VCF_UNSORTED, record.line)
        self._last = (record.contig, record.position)

    def _compare_ref(self, record: _Record) -> None:
        length = self._reference.contigs[record.contig].length
        ref = record.columns[3].upper()
        fault = alleles.ref_fault(ref)
        last = record.position - 1 + (1 if fault else len(ref))
        if last > length:
            raise _Fault(FileReason.VCF_PAST_END, last=last, contig=record.contig, length=f"{length:,}")
        if fault:
            raise _Fault(fault, ref=shown(record.columns[3]))
        record.ref = ref
        self._note_order(record)
        found = self._reference.fetch(record.contig, record.position - 1, last)
        agrees = alleles.agrees(ref.decode("ascii"), found)
        if ref.strip(b"N"):
            self._tally.ref_checked += 1
            self._tally.ref_matched += agrees
        if not agrees:
            where = {"contig": record.contig, "position": record.position}
            raise _Fault(FileReason.VCF_REF_MISMATCH, ref=shown(ref, QUOTED_BASES), found=shown(found, QUOTED_BASES), **where)

    def _read_genotype(self, record: _Record) -> None:
        column = self._header.sample_column
        if column is None:
            return
        keys = record.columns[FORMAT_COLUMN].split(b":")
        values = record.columns[column].split(b":")
        if b"GT" not in keys or keys.index(b"GT") >= len(values) or not values[keys.index(b"GT")]:
            return
        if keys.count(b"GT") > 1:
            raise _Fault(FileReason.VCF_GENOTYPE_TWICE)
        text = values[keys.index(b"GT")].decode("utf-8", "backslashreplace")
        record.genotype_text = stored(text)
        read = genotype.parse(text)
        if read is None:
            raise _Fault(FileReason.VCF_GENOTYPE_SYNTAX, genotype=shown(text), sample=self._sample)
        alts = 0 if record.alts == [b"."] else len(record.alts)
        if read.highest > alts:
            raise _Fault(FileReason.VCF_GENOTYPE_INDEX, genotype=shown(text), index=read.highest, count=alts)
        record.genotype = read

    def _allele(self, record: _Record, index: int, alt: bytes) -> Verdict:
        upper = alt.upper()
        wrong = alleles.alt_fault(record.ref, upper)
        if wrong:
            return _verdict(record, index, alt, Outcome.REFUSED, wrong, wrong.say(alt=shown(alt)))
        uncarried = self._uncarried(record, index)
        if uncarried:
            outcome = Outcome.NOT_CARRIED if uncarried is FileReason.VCF_NOT_CARRIED else Outcome.NO_CALL
            words = uncarried.say(sample=self._sample, genotype=shown(record.genotype_text))
            return _verdict(record, index, alt, outcome, uncarried, words)
        parked = self._parked(record, upper)
        if parked in events.KINDS and self._tally.limits.max_event:
            return self._event(record, index, alt, events.end_of(record.columns[INFO_COLUMN], record.position, index))
        if parked:
            limit, length = self._tally.limits.max_allele, len(alt)
            length = len(record.ref) if parked is FileReason.VCF_REF_TOO_LONG else length
            return _verdict(record, index, alt, Outcome.PARKED, parked, parked.say(alt=shown(alt), length=length, limit=limit))
        return _accepted(record, index, alt)

    def _event(self, record: _Record, index: int, alt: bytes, end: int | None) -> Verdict:
        """A symbolic deletion, duplication or inversion: accepted where its END says which bases it is about."""
        if events.contradicts(record.columns[INFO_COLUMN]):
            words = FileReason.VCF_END_TWICE.say(alt=shown(alt))
            return _verdict(record, index, alt, Outcome.PARKED, FileReason.VCF_END_TWICE, words)
        limit, length = self._tally.limits.max_event, self._reference.contigs[record.contig].length
        fault = events.fault(record.position, end, contig_length=length, longest=limit)
        if fault is None:
            return _accepted(record, index, alt, end or 0)
        spans = f"{(end or 0) - record.position:,}" if fault is FileReason.VCF_EVENT_TOO_LONG else f"{length:,}"
        outcome = Outcome.PARKED if fault in (FileReason.VCF_END_MISSING, FileReason.VCF_EVENT_TOO_LONG) else Outcome.REFUSED
        words = fault.say(alt=shown(alt), end=end, contig=record.contig, length=spans, limit=f"{limit:,}")
        return _verdict(record, index, alt, outcome, fault, words)

    def _uncarried(self, record: _Record, index: int) -> FileReason | None:
        """Why this allele does not count for the sample; None where it does."""
        if self._header.sample_column is None:
            return None
        if record.genotype is None:
            return FileReason.VCF_GENOTYPE_MISSING
        if record.genotype.carries(index):
            return None
        if record.genotype.missing:
            return FileReason.VCF_NO_CALL
        return FileReason.VCF_HALF_CALL if record.genotype.partial else FileReason.VCF_NOT_CARRIED

    def _parked(self, record: _Record, upper: bytes) -> FileReason | None:
        longest = self._tally.limits.max_allele
        by_alt = alleles.alt_parked(upper)
        if by_alt:
            return by_alt
        if b"N" in record.ref:
            return FileReason.VCF_REF_UNKNOWN_BASE
        if len(record.ref) > longest:
            return FileReason.VCF_REF_TOO_LONG
        return FileReason.VCF_ALT_TOO_LONG if len(upper) > longest else None


def _accepted(record: _Record, index: int, alt: bytes, end: int = 0) -> Verdict:
    flags: list[FileReason] = []
    words: list[str] = []
    caller = record.columns[6]
    if caller not in (b"PASS", b".", b""):
        flags.append(FileReason.VCF_FILTER)
        words.append(FileReason.VCF_FILTER.say(filter=shown(caller)))
    if record.genotype is not None and record.genotype.partial:
        flags.append(FileReason.VCF_HALF_CALL_CARRIED)
        words.append(FileReason.VCF_HALF_CALL_CARRIED.say(genotype=shown(record.genotype_text)))
    if not (record.columns[3] + alt).isupper():
        flags.append(FileReason.VCF_LOWER_CASE)
        words.append(FileReason.VCF_LOWER_CASE.say())
    return _verdict(record, index, alt.upper(), Outcome.ACCEPTED, None, " ".join(words), tuple(flags), end)


def _verdict(
    record: _Record,
    index: int,
    alt: bytes,
    outcome: Outcome,
    code: FileReason | None,
    reason: str,
    flags: tuple[FileReason, ...] = (),
    end: int = 0,
) -> Verdict:
    read = record.genotype
    ref, alternate = _kept(record.ref or record.columns[3], outcome), _kept(alt, outcome)
    normal = outcome is Outcome.ACCEPTED and (bool(end) or len(ref) + len(alternate) == 2)  # see `Verdict.norm_position`
    return Verdict(
        line=record.line,
        alt_index=index,
        outcome=outcome,
        code=code,
        reason=reason,
        flags=flags,
        contig=record.contig,
        submitted_contig=stored(record.columns[0]),
        position=record.position,
        ref=ref,
        alt=alternate,
        end=end,
        norm_position=record.position if normal else 0,
        norm_ref=ref if normal else "",
        norm_alt=alternate if normal else "",
        genotype=record.genotype_text,
        zygosity=read.zygosity(index) if read is not None and read.carries(index) else Zygosity.UNKNOWN,
        phased=read.phased if read is not None else False,
        filter=stored(record.columns[6]),
        name="" if record.columns[2] in (b".", b"") else stored(record.columns[2]),
    )


def _kept(allele: bytes, outcome: Outcome) -> str:
    """An accepted allele is kept whole, whatever its length; of the others as much as a person would read."""
    return allele.decode("ascii") if outcome is Outcome.ACCEPTED else stored(allele)
