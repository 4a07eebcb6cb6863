"""The reader of each kind of file, with what it remembers between two records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.fasta import Sequences
from orders.intake.fastq import check_fastq
from orders.intake.lines import Lines
from orders.intake.normalise import Repeats, normalised
from orders.intake.reference import ReferenceView
from orders.intake.sequence_names import SequenceNames
from orders.intake.vcf_header import Header, read_header
from orders.intake.vcf_records import Records
from orders.intake.verdicts import Boundary, Kind, Tally, Verdict


class Reading(Protocol):
    """A file being read: its lines, its verdicts, and what a later one needs to go on where this one is."""

    lines: Lines

    @property
    def state(self) -> dict[str, Any]: ...

    def resume(self, state: Mapping[str, Any]) -> None: ...

    def verdicts(self) -> Iterator[Verdict | Boundary]: ...


def reading(kind: Kind, lines: Lines, tally: Tally, reference: ReferenceView | None, sample: str | None) -> Reading:
    """The reader for a kind; raises FileRefused for a VCF without a reference."""
    if kind is Kind.FASTA:
        return _Fasta(lines, tally)
    if kind is Kind.FASTQ:
        return _Fastq(lines, tally)
    if reference is None:
        raise FileRefused(FileReason.FILE_NO_REFERENCE)
    return _Vcf(lines, tally, reference, sample)


class _Vcf:
    def __init__(self, lines: Lines, tally: Tally, reference: ReferenceView, sample: str | None) -> None:
        self.lines = lines
        self._tally = tally
        self._reference = reference
        self._sample = sample
        self._header: Header | None = None
        self._records: Records | None = None
        self._repeats = Repeats(tally.limits.remembered_variants)

    @property
    def state(self) -> dict[str, Any]:
        header, records = self._header, self._records
        if header is None or records is None:
            return {}
        return {"header": [header.columns, header.sample_column], "records": records.state, "repeats": self._repeats.state}

    def resume(self, state: Mapping[str, Any]) -> None:
        columns, sample_column = state["header"]
        self._header = Header(columns, sample_column)
        self._records = Records(self._header, reference=self._reference, tally=self._tally).resumed(state["records"])
        self._repeats.resumed(state["repeats"])

    def verdicts(self) -> Iterator[Verdict | Boundary]:
        source = self.lines.whole()
        if self._header is None:
            self._header = read_header(source, reference=self._reference, sample=self._sample, tally=self._tally)
        self._records = self._records or Records(self._header, reference=self._reference, tally=self._tally)
        judged = self._records.verdicts(source)
        return normalised(judged, reference=self._reference, limits=self._tally.limits, repeats=self._repeats)


class _Fasta:
    def __init__(self, lines: Lines, tally: Tally) -> None:
        self.lines = lines
        self._names = SequenceNames(tally)
        self._sequences = Sequences(tally, self._names)

    @property
    def state(self) -> dict[str, Any]:
        return {"names": self._names.state, "sequence": self._sequences.state}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._names.resumed(state["names"])
        self._sequences.resumed(state["sequence"])

    def verdicts(self) -> Iterator[Verdict | Boundary]:
        return self._sequences.verdicts(self.lines)


class _Fastq:
    def __init__(self, lines: Lines, tally: Tally) -> None:
        self.lines = lines
        self._tally = tally
        self._names = SequenceNames(tally)

    @property
    def state(self) -> dict[str, Any]:
        return {"names": self._names.state}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._names.resumed(state["names"])

    def verdicts(self) -> Iterator[Verdict | Boundary]:
        return check_fastq(self.lines, self._tally, self._names)
