"""The check of one file: iterate it for the verdicts, then ask for the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from foundation.file_reasons import FileReason
from orders.intake import resuming
from orders.intake.errors import FileRefused, NotFinished
from orders.intake.lines import Lines
from orders.intake.readers import Reading, reading
from orders.intake.reading import Source
from orders.intake.reference import ReferenceView
from orders.intake.sniff import first_bytes, kind_of, note_name
from orders.intake.verdicts import Boundary, FileVerdict, Kind, Limits, Outcome, Problem, Progress, State, Tally, Verdict

EVERY_KIND = frozenset(Kind)


class Check:
    """One pass over one file in constant memory. Nothing about the file raises: faults are verdicts and problems.

    With the `state` of an earlier check of the same file it goes on behind the last verdict that one had given.
    """

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
        state: resuming.State | None = None,
    ) -> None:
        self._filename = filename
        self._reference = reference
        self._sample = sample
        self._accept = accept
        self._progress = progress
        self._limits = limits
        self._tally = Tally(limits)
        self._state_given = state if state and state["under"] == self._under() else None
        start = resuming.place(self._state_given["place"]) if self._state_given else None
        self._source = Source(path, limits=limits, on_chunk=self._report, start=start)
        self._counts: Counter[Outcome] = Counter(dict.fromkeys(Outcome, 0))
        self._codes: Counter[FileReason] = Counter()
        self._first_exception: tuple[int, str] | None = None  # line and reason
        self._refusal: Problem | None = None
        self._begun = self._finished = self._at_boundary = False
        self._reading: Reading | None = None
        if self._state_given:
            self._resume(self._state_given)
            self._at_boundary = True

    def __iter__(self) -> Iterator[Verdict]:
        for each in self._each():
            if not isinstance(each, Boundary):
                yield each

    def batches(self, size: int) -> Iterator[list[Verdict]]:
        """The verdicts in lists of `size` or a little more; after nearly every one of them `state` can be kept.

        `size` is at least `Limits.batch`: so many verdicts come at once.
        """
        batch: list[Verdict] = []
        for each in self._each():
            if not isinstance(each, Boundary):
                batch.append(each)
            if len(batch) >= (size if isinstance(each, Boundary) else 2 * size):
                self._at_boundary = isinstance(each, Boundary)
                yield batch
                batch = []
        self._at_boundary = False
        if batch:
            yield batch

    @property
    def resumed(self) -> bool:
        """Whether the state it was given could be gone on from."""
        return self._state_given is not None

    @property
    def state(self) -> resuming.State | None:
        """Everything that is needed to go on from here; None where a record has been judged in part, and before and after all."""
        reader = self._reading
        if not self._at_boundary or reader is None:
            return None
        return {
            "format": resuming.FORMAT,
            "under": self._under(),
            "place": list(self._source.place_before(reader.lines.offset)),
            "at": [reader.lines.line, reader.lines.offset],
            "tally": resuming.tally_state(self._tally),
            "counts": dict(self._counts),
            "codes": dict(self._codes),
            "first_exception": self._first_exception,
            "reading": reader.state,
        }

    def _each(self) -> Iterator[Verdict | Boundary]:
        if self._begun:
            raise NotFinished("A check reads its file once; start another for a second pass.")
        self._begun = True
        try:
            for each in self._verdicts():
                if not isinstance(each, Boundary):
                    self._counts[each.outcome] += 1
                    self._codes.update(each.flags if each.code is None else (each.code,))
                    if self._first_exception is None and each.code:
                        self._first_exception = each.line, each.reason
                yield each
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

    def _verdicts(self) -> Iterator[Verdict | Boundary]:
        if self._reading is not None:
            return self._reading.verdicts()
        start, chunks = first_bytes(self._source.chunks())
        kind = self._tally.kind = kind_of(start)
        if kind not in self._accept:
            accepted = " or ".join(sorted(each.upper() for each in self._accept))
            raise FileRefused(FileReason.FILE_KIND_NOT_ACCEPTED, kind=kind.upper(), accepted=accepted)
        note_name(self._filename, kind, self._tally)
        lines = Lines(chunks, self._tally)
        self._reading = reading(kind, lines, self._tally, self._reference, self._sample)
        return self._reading.verdicts()

    def _resume(self, state: resuming.State) -> None:
        resuming.tally_resumed(self._tally, state["tally"])
        self._counts.update({Outcome(outcome): count for outcome, count in state["counts"].items()})
        self._codes.update({resuming.reason_of(code): count for code, count in state["codes"].items()})
        self._first_exception = state["first_exception"] and tuple(state["first_exception"])
        line, offset = state["at"]
        lines = Lines(self._source.text_from(offset), self._tally, line=line, offset=offset)
        self._reading = reading(Kind(state["tally"]["kind"]), lines, self._tally, self._reference, self._sample)
        self._reading.resume(state["reading"])

    def _under(self) -> dict[str, Any]:
        reference = self._reference.digest if self._reference else None
        return resuming.made_under(limits=self._limits, accept=self._accept, sample=self._sample, reference=reference)

    def _require_something(self) -> None:
        if self._counts[Outcome.ACCEPTED]:
            return
        counts = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in self._counts.items() if count)
        first = self._first_exception
        words = f"{counts}. Line {first[0]}: {first[1]}" if first else "it holds no sequence."
        raise FileRefused(FileReason.FILE_NOTHING_TO_SCORE, at_line=first[0] if first else None, counts=words)

    def _state(self) -> State:
        if self._refusal is not None:
            return State.REFUSED
        excepted = self._counts[Outcome.PARKED] + self._counts[Outcome.REFUSED]
        return State.ACCEPTED_WITH_EXCEPTIONS if excepted else State.ACCEPTED

    def _report(self) -> None:
        if self._progress is not None:
            source, tally = self._source, self._tally
            self._progress(Progress(source.bytes_read, source.size, tally.lines, tally.items))
