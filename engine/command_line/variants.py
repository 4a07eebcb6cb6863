"""`score --vcf`: every record of a VCF again, in order, with what each ALT changes or why it has no score, however many."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from engine.command_line import contigs, info_fields, output, planning, reference, running, source, status, survey, undeclared, vcf
from engine.command_line.info_fields import Verdict
from engine.command_line.options import protocol as asked_protocol
from engine.command_line.planning import Planned
from engine.command_line.progress_line import ProgressLine
from engine.command_line.reference import Reference
from engine.command_line.region import refuse_window
from engine.command_line.tally import Tally
from engine.engine import Engine
from engine.errors import ContextTooLong, EngineError, InvalidRequest, UnknownContig
from engine.protocols import Protocol, Variant, fitted
from engine.request import Outcome, Request

Opened = Callable[[], AbstractContextManager[source.Source]]

_HEAVY = 16 << 10  # characters of a line that count as one more record


@dataclass(frozen=True, slots=True)
class Alternate:
    """One ALT of a record, planned or refused; a record without ALT is one refused alternate."""

    record: vcf.Record
    planned: Planned | None
    refusal: EngineError | None = None

    @property
    def weight(self) -> int:
        """For `running.flow`: a record with thousands of samples is not kept by the thousand."""
        return 1 + len(self.record.text) // _HEAVY


def run(options: argparse.Namespace) -> int:
    """Files are looked at before the model is loaded; nothing stands under the name of the result before the last record does."""
    if options.reference is None:
        raise InvalidRequest("--vcf needs a --reference")
    if options.json:
        raise InvalidRequest("--json goes with sequences; variants are written as VCF")
    protocol, out = asked_protocol(options), options.out or source.STANDARD
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(source.opened_twice(options.vcf))
        bases = stack.enter_context(reference.opened(options.reference))
        if out.exists() and out.samefile(options.reference):
            raise InvalidRequest("--out would take the place of the reference")
        tally = Tally()
        declared = _declared(opened, bases, tally, options.progress)
        calls = stack.enter_context(opened())
        _, lines = vcf.read(calls.lines())
        written = stack.enter_context(output.opened(out))
        engine = running.started(options)
        refuse_long(engine, protocol)
        written.write(info_fields.header(declared, engine, protocol, bases.digest()))
        line = ProgressLine(options.progress)
        stack.callback(line.close)
        asked = _asked(lines, bases, planning.by(protocol, bases, engine.tokenizer), tally)
        found = running.flow(
            engine,
            asked,
            look=lambda: line.look(lambda ran: tally.progress(ran, calls.share)),
            weight=lambda alternate: alternate.weight,
        )
        for record, alternates in itertools.groupby(found, key=lambda item: item[0].record):
            verdicts = [_verdict(alternate, outcomes) for alternate, outcomes in alternates]
            tally.record(verdicts)
            written.write(info_fields.annotated(record, verdicts))
    return _told(tally, line.ran, quiet=options.progress is False)


def _declared(opened: Opened, bases: Reference, tally: Tally, progress: bool | None) -> vcf.Header:
    """The header with everything that the records name, after a first reading of them all."""
    with opened() as calls, contextlib.closing(ProgressLine(progress)) as line:
        header, lines = vcf.read(calls.lines())

        def looked() -> Iterator[vcf.Record | vcf.Broken]:
            for record in lines:
                yield record
                line.look(lambda ran: survey.progress(ran, calls.share))

        used = survey.read(header, looked())
    for broken in header.broken:
        tally.break_off(broken)
    tally.lengths = contigs.of_other_lengths(header, used.contigs, bases)
    return undeclared.declared(contigs.declared(header, used.contigs, bases), used)


def refuse_long(engine: Engine, protocol: Protocol) -> None:
    """ContextTooLong, or InvalidRequest, where no window of the protocol fits the model and its tokens."""
    protocol = fitted(protocol, engine.tokenizer)
    if protocol.kind == "region-scan":
        refuse_window(engine, protocol.window)
    else:
        tokenizer = engine.tokenizer
        positions = len(tokenizer.before) + len(tokenizer.encode("A" * protocol.window).ids) - 1
        if positions > engine.context:
            raise ContextTooLong(positions=positions, context=engine.context)


def _asked(
    lines: Iterator[vcf.Record | vcf.Broken], bases: Reference, plan: planning.Plan, tally: Tally
) -> Iterator[tuple[Alternate, Sequence[Request]]]:
    """Every alternate with its requests; lines that are no records are counted on the way."""
    for record in lines:
        if isinstance(record, vcf.Broken):
            tally.break_off(record)
            continue
        contig = bases.named(record.contig)
        if contig is None:
            tally.miss(record.contig)
        elif contig != record.contig:
            tally.aliases[record.contig] = contig
        for index, alt in enumerate(record.alts or ("",)):
            alternate = _planned(record, contig, index, alt, bases, plan)
            yield alternate, () if alternate.planned is None else alternate.planned.requests


def _planned(record: vcf.Record, contig: str | None, index: int, alt: str, bases: Reference, plan: planning.Plan) -> Alternate:
    try:
        if not alt:
            raise InvalidRequest("there is no ALT")
        if contig is None:
            near = bases.nearest(record.contig)
            said = f"contig {record.contig} is not in the reference"
            raise UnknownContig(said if near is None else f"{said}, whose nearest name is {near}")
        variant = Variant(bases.lengths[contig], record.position, record.ref, alt, record.end(index))
        return Alternate(record, plan(contig, variant))
    except EngineError as error:
        return Alternate(record, None, error)


def _verdict(alternate: Alternate, outcomes: Sequence[Outcome]) -> Verdict:
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), alternate.refusal)
    if error is not None or alternate.planned is None:
        return planning.refused(error or EngineError())
    return alternate.planned.verdict([outcome.result for outcome in outcomes])


def _told(tally: Tally, ran: float, *, quiet: bool) -> int:
    """Say what was done and what needs a look; the exit status."""
    complaints = tally.complaints()
    said = [*tally.emptiness(), *complaints] if quiet else [*tally.notes(), tally.summary(ran), *tally.emptiness(), *complaints]
    for sentence in said:
        sys.stderr.write(f"engine: {sentence}\n")
    return status.NEEDS_A_LOOK if complaints else status.DONE
