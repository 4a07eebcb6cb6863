"""`scan`: every base in the place of every base of a region."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine import fasta
from engine.command_line import running
from engine.command_line.options import protocol as asked_protocol
from engine.engine import Engine
from engine.errors import InvalidRequest
from engine.protocols import BASES, Protocol
from engine.scan import combine_region, plan_region

_REGION = re.compile(r"(.+):([0-9,]{1,15})-([0-9,]{1,15})")


@dataclass(frozen=True)
class Task:
    """What was asked, read and found whole before a model is loaded. `start` counts from 0, `end` is excluded."""

    protocol: Protocol
    contig: str
    bases: str
    start: int
    end: int


def read(options: argparse.Namespace) -> Task:
    """InvalidRequest for a region that is none, or is not in the reference."""
    protocol = asked_protocol(options)
    parts = _REGION.fullmatch(options.region)
    if parts is None or not all(place.strip(",") for place in parts.groups()[1:]):
        raise InvalidRequest(f"a region is written NAME:START-END, not {options.region!r}")
    contig, (first, last) = parts[1], (int(place.replace(",", "")) for place in parts.groups()[1:])
    found = fasta.contigs(options.reference, {contig})
    if contig not in found:
        raise InvalidRequest(f"contig {contig} is not in the reference")
    if not 1 <= first <= last <= len(found[contig]):
        raise InvalidRequest(f"region {options.region} is empty or lies outside the contig of {len(found[contig])} bases")
    return Task(protocol, contig, found[contig], first - 1, last)


def score(engine: Engine, task: Task, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for every site."""
    window = task.protocol.window
    if 2 * window > engine.context:
        limit = engine.context // 2
        raise InvalidRequest(
            f"the window must be at most {limit}, half of the model's context, not {window}: contexts grow to twice it"
        )
    bases = task.bases
    plan = plan_region(task.protocol, len(bases), task.start, task.end, lambda start, end: bases[start:end], engine.tokenizer)
    found = running.results(engine, plan.requests)
    for site in combine_region(plan, [found[request] for request in plan.requests]):
        yield {
            "contig": task.contig,
            "position": site.position,
            "reference": site.reference,
            **{f"log_p_{base}": value for base, value in zip(BASES, site.logprobs, strict=True)},
            **dict(zip((f"delta_{base}" for base in BASES), site.deltas or (None,) * len(BASES), strict=True)),
            "context": site.context,
            "flags": site.flags,
            "protocol": task.protocol.kind,
            "window": window,
            "strand": task.protocol.strand,
            **running.origin(engine),
        }
