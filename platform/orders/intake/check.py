"""The check of one file: iterate it for the verdicts, then ask for the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from foundation.reasons import Reason
from orders.intake.errors import FileRefused, NotFinished
from orders.intake.fasta import check_fasta
from orders.intake.fastq import check_fastq
from orders.intake.lines import Lines
from orders.intake.normalise import normalised
from orders.intake.reading import Source
from orders.intake.reference import ReferenceView
from orders.intake.sniff import first_bytes, kind_of, note_name
from orders.intake.vcf_header import read_header
from orders.intake.vcf_records import Records
from orders.intake.verdicts import FileVerdict, Kind, Limits, Outcome, Problem, Progress, State, Tally, Verdict

EVERY_KIND = frozenset(Kind)


class Check:
    """One pass over one file in constant memory. Nothing about the file raises: faults are verdicts and problems."""

    def __init__(
        self,
        path: Path,
        *,
        filename: str,
        reference: ReferenceView | None,
        sample: str | None,
        accept: frozenset[Kind],
        limits: Limits,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._filename = filename
        self._reference = reference
        self._sample = sample
        self._accept = accept
        self._progress = progress
        self._tally = Tally(limits)
        self._source = Source(path, limits=limits, on_chunk=self._report)
        self._counts: Counter[Outcome] = Counter(dict.fromkeys(Outcome, 0))
        self._codes: Counter[Reason] = Counter()
        self._first_exception: Verdict | None = None
        self._refusal: Problem | None = None
        self._finished = False

    def __iter__(self) -> Iterator[Verdict]:
        if self._finished or self._source.bytes_read:
            raise NotFinished("A check reads its file once; start another for a second pass.")
        try:
            for verdict in self._verdicts():
                self._counts[verdict.outcome] += 1
                self._codes.update(verdict.flags if verdict.code is None else (verdict.code,))
                self._first_exception = self._first_exception or (verdict if verdict.code else None)
                yield verdict
            self._require_something()
        except FileRefused as refused:
            self._refusal = Problem(refused.reason, refused.line, str(refused), fatal=True)
        self._finished = True

    @property
    def kind(self) -> Kind | None:
        """Of the content; known from the first verdict on."""
        return self._tally.kind

    def run(self) -> FileVerdict:
        """Read everything and keep only the summary."""
        for _ in self:
            pass
        return self.summary

    @property
    def summary(self) -> FileVerdict:
        """Raises NotFinished before the last verdict was read."""
        if not self._finished:
            raise NotFinished
        tally, source = self._tally, self._source
        return FileVerdict(
            state=self._state(),
            filename=self._filename,
            kind=tally.kind,
            compression=source.compression,
            problems=(*((self._refusal,) if self._refusal else ()), *tally.notes.values()),
            samples=tally.samples,
            sample=tally.sample,
            records=tally.records,
            items=tally.items,
            counts=dict(self._counts),
            codes=dict(self._codes),
            reference=self._reference.name if self._reference else None,
            reference_digest=self._reference.digest if self._reference else None,
            build=tally.build(),
            lines=tally.lines,
            bytes_read=source.bytes_read,
            bytes_of_text=source.bytes_of_text,
        )

    def _verdicts(self) -> Iterator[Verdict]:
        start, chunks = first_bytes(self._source.chunks())
        kind = self._tally.kind = kind_of(start)
        if kind not in self._accept:
            accepted = " or ".join(sorted(each.upper() for each in self._accept))
            raise FileRefused(Reason.FILE_KIND_NOT_ACCEPTED, kind=kind.upper(), accepted=accepted)
        note_name(self._filename, kind, self._tally)
        lines = Lines(chunks, self._tally)
        if kind is Kind.FASTA:
            return check_fasta(lines, self._tally)
        return check_fastq(lines, self._tally) if kind is Kind.FASTQ else self._vcf(lines)

    def _vcf(self, lines: Lines) -> Iterator[Verdict]:
        if self._reference is None:
            raise FileRefused(Reason.FILE_NO_REFERENCE)
        source = lines.whole()
        header = read_header(source, reference=self._reference, sample=self._sample, tally=self._tally)
        records = Records(header, reference=self._reference, tally=self._tally)
        return normalised(records.verdicts(source), reference=self._reference, limits=self._tally.limits)

    def _require_something(self) -> None:
        if self._counts[Outcome.ACCEPTED]:
            return
        counts = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in self._counts.items() if count)
        first = self._first_exception
        words = f"{counts}. Line {first.line}: {first.reason}" if first else "it holds no sequence."
        raise FileRefused(Reason.FILE_NOTHING_TO_SCORE, at_line=first.line if first else None, counts=words)

    def _state(self) -> State:
        if self._refusal is not None:
            return State.REFUSED
        excepted = self._counts[Outcome.PARKED] + self._counts[Outcome.REFUSED]
        return State.ACCEPTED_WITH_EXCEPTIONS if excepted else State.ACCEPTED

    def _report(self) -> None:
        if self._progress is not None:
            source, tally = self._source, self._tally
            self._progress(Progress(source.bytes_read, source.size, tally.lines, tally.items))
