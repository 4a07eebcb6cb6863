"""A check between two records, as a value: kept while it runs, so that it goes on from there when its worker dies.

The state is plain JSON with a format version. What it was made under (limits, kinds, sample, reference) is part of it, and
a state of another format or made under something else is not resumed: the check then begins at the first line.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from foundation.file_reasons import FileReason
from orders.intake.reading import Place
from orders.intake.verdicts import Kind, Limits, Problem, Tally

FORMAT = 1
LARGEST = 256 << 20  # bytes of a state; more is no state of ours

State = Mapping[str, Any]


def packed(state: State) -> bytes:
    """A state as bytes for a column."""
    return zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 1)


def unpacked(data: bytes) -> State | None:
    """The state again; None for what this version does not know."""
    try:
        state = json.loads(zlib.decompressobj().decompress(data, LARGEST))
    except (zlib.error, ValueError):
        return None
    return state if isinstance(state, dict) and state.get("format") == FORMAT else None


def made_under(*, limits: Limits, accept: frozenset[Kind], sample: str | None, reference: str | None) -> dict[str, Any]:
    """What a state is only good for."""
    return {"limits": asdict(limits), "accept": sorted(accept), "sample": sample, "reference": reference}


def tally_state(tally: Tally) -> dict[str, Any]:
    """Everything a tally has counted and noticed."""
    return {
        "kind": tally.kind,
        "samples": list(tally.samples),
        "sample": tally.sample,
        "numbers": [tally.records, tally.items, tally.lines, tally.ref_checked, tally.ref_matched],
        "lengths": [tally.lengths_matched, tally.lengths_contradicting],
        "notes": [[problem.code, problem.line, problem.reason, problem.lines] for problem in tally.notes.values()],
    }


def tally_resumed(tally: Tally, state: State) -> None:
    """Make a fresh tally the one that was left."""
    tally.kind, tally.samples, tally.sample = Kind(state["kind"]), tuple(state["samples"]), state["sample"]
    tally.records, tally.items, tally.lines, tally.ref_checked, tally.ref_matched = state["numbers"]
    tally.lengths_matched, tally.lengths_contradicting = (list(names) for names in state["lengths"])
    for code, line, reason, lines in state["notes"]:
        said = reason_of(code)
        tally.notes[said] = Problem(said, line, reason, fatal=False, lines=lines)


def reason_of(code: str) -> FileReason:
    """The reason with this code, which a state of this format has."""
    return next(reason for reason in FileReason if reason == code)


def place(values: Sequence[int]) -> Place:
    """A place in the file, from its two numbers."""
    return Place(*values)
