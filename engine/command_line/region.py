"""`scan`: every base in the place of every base of a region."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.command_line import reference, running
from engine.command_line.options import protocol as asked_protocol
from engine.engine import Engine
from engine.errors import InvalidRequest
from engine.protocols import BASES, Protocol
from engine.scan import combine_region, plan_region

_REGION = re.compile(r"(.+):([0-9,]{1,15})-([0-9,]{1,15})")


@dataclass(frozen=True)
class Task:
    """What was asked, read before a model is loaded. Places count from 0 on the contig; `end` is excluded."""

    protocol: Protocol
    contig: str
    length: int  # of the contig
    start: int
    end: int
    bases: str  # of the region and what may be read around it
    offset: int  # where they begin

    def fetch(self, start: int, end: int) -> str:
        """Bases of the contig."""
        return self.bases[start - self.offset : end - self.offset]


def read(options: argparse.Namespace) -> Task:
    """InvalidRequest for a region that is none, or is not in the reference."""
    protocol = asked_protocol(options)
    parts = _REGION.fullmatch(options.region)
    if parts is None or not all(place.strip(",") for place in parts.groups()[1:]):
        raise InvalidRequest(f"a region is written NAME:START-END, not {options.region!r}")
    contig, (first, last) = parts[1], (int(place.replace(",", "")) for place in parts.groups()[1:])
    with reference.opened(options.reference) as file:
        if contig not in file.lengths:
            raise InvalidRequest(f"contig {contig} is not in the reference")
        length, around = file.lengths[contig], 2 * protocol.window
        if not 1 <= first <= last <= length:
            raise InvalidRequest(f"region {options.region} is empty or lies outside the contig of {length} bases")
        offset = max(0, first - 1 - around)
        bases = file.fetch(contig, offset, min(length, last + around))
    return Task(protocol, contig, length, first - 1, last, bases, offset)


def score(engine: Engine, task: Task, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for every site."""
    window = task.protocol.window
    refuse_window(engine, window)
    plan = plan_region(task.protocol, task.length, task.start, task.end, task.fetch, engine.tokenizer)
    found = running.results(engine, plan.requests, options.progress)
    for site in combine_region(plan, [found[request] for request in plan.requests]):
        yield {
            "contig": task.contig,
            "position": site.position,
            "reference": site.reference,
            **dict(zip((f"log_p_{base}" for base in BASES), site.logprobs or (None,) * len(BASES), strict=True)),
            **dict(zip((f"delta_{base}" for base in BASES), site.deltas or (None,) * len(BASES), strict=True)),
            "context": site.context,
            "flags": site.flags,
            "protocol": task.protocol.kind,
            "window": window,
            "strand": task.protocol.strand,
            **running.origin(engine),
        }


def refuse_window(engine: Engine, window: int) -> None:
    """InvalidRequest for a window whose contexts would be longer than the model's."""
    bases = engine.context * (engine.tokenizer.width or 1)
    if 2 * window > bases:
        raise InvalidRequest(
            f"the window must be at most {bases // 2}, half of the model's context in bases, not {window}: a scan reads up to two"
        )
