"""`variants`: the alleles of a VCF against a reference. A refused record is a row with its reason, not the end of the run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine import fasta
from engine.command_line import running, vcf
from engine.command_line.options import protocol as asked_protocol
from engine.engine import Engine
from engine.errors import ContextTooLong, EngineError, InvalidRequest
from engine.protocols import Protocol, Variant, VariantPlan
from engine.request import Outcome, Request
from engine.windows import combine, plan_variant

_TOGETHER = 512  # records planned at once: their windows are in memory until they are scored
_SCORED = ("delta", "ll_ref", "ll_alt", "tokens", "scored_as", "offset", "flags")


@dataclass(frozen=True)
class Task:
    """What was asked, read and found whole before a model is loaded."""

    protocol: Protocol
    records: list[vcf.Record]
    contigs: dict[str, str]


def read(options: argparse.Namespace) -> Task:
    """InvalidRequest for files and settings of which nothing can be scored."""
    protocol = asked_protocol(options)
    records = list(vcf.records(fasta.lines(options.vcf)))
    return Task(protocol, records, fasta.contigs(options.reference, {record.contig for record in records}))


def score(engine: Engine, task: Task, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for every ALT, in the order of the file."""
    if task.protocol.window > engine.context:
        raise ContextTooLong(positions=task.protocol.window, context=engine.context)
    for first in range(0, len(task.records), _TOGETHER):
        records = task.records[first : first + _TOGETHER]
        plans = [_planned(engine, task, record) for record in records]
        requests = (request for plan in plans if isinstance(plan, VariantPlan) for request in plan.requests)
        outcomes = running.settled(engine, requests)
        for record, plan in zip(records, plans, strict=True):
            yield _row(record, _verdict(plan, outcomes), task.protocol) | running.origin(engine)


def _planned(engine: Engine, task: Task, record: vcf.Record) -> VariantPlan | EngineError:
    try:
        if record.fault:
            raise InvalidRequest(record.fault)
        contig = task.contigs.get(record.contig)
        if contig is None:
            raise InvalidRequest(f"contig {record.contig} is not in the reference")
        variant = Variant(len(contig), record.position, record.ref, record.alt, record.end)
        return plan_variant(task.protocol, variant, lambda start, end: contig[start:end], engine.tokenizer)
    except EngineError as error:
        return error


def _verdict(plan: VariantPlan | EngineError, outcomes: dict[Request, Outcome]) -> dict[str, Any]:
    """Score or refusal of one record."""
    if isinstance(plan, EngineError):
        return _refused(plan)
    found = [outcomes[request] for request in plan.requests]
    for outcome in found:
        if outcome.error is not None:
            return _refused(outcome.error)
    score = combine(plan, [outcome.result for outcome in found])  # type: ignore[misc]
    return {"state": "scored", **{name: getattr(score, name) for name in _SCORED}, "code": "", "reason": ""}


def _refused(error: EngineError) -> dict[str, Any]:
    return {"state": "refused", **dict.fromkeys(_SCORED), "code": error.code, "reason": str(error)}


def _row(record: vcf.Record, verdict: dict[str, Any], protocol: Protocol) -> dict[str, Any]:
    place = {"contig": record.contig, "position": record.position, "ref": record.ref, "alt": record.alt}
    settings = {"protocol": protocol.kind, "window": protocol.window, "strand": protocol.strand, "grid": protocol.grid}
    return place | verdict | settings
