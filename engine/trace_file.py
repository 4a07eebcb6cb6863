"""The last seconds of a trace as bytes, so that a worker that runs gives them away quickly and somebody else draws them."""

from __future__ import annotations

import json
import zlib
from array import array

from engine.happening import What
from engine.lanes import ENDS
from engine.trace import Event, Level, Part, Step, Times, Trace

_VERSION = 1


def packed(trace: Trace, last: float) -> bytes:
    """The steps of the last so many seconds, and all that happened to whoever was there; from any thread."""
    now, steps, events = trace.clock(), trace.steps, trace.events
    kept = [step for step in steps if step.times.ended > now - last]
    over = {event.handle for event in events if event.what in ENDS and event.at < now - last}
    over -= {mark.handle for step in kept for mark in step.marks}
    whole = {
        "version": _VERSION,
        "now": now,
        "steps": [
            [step.number, step.times, step.numbers.tolist(), step.level, step.layers, int(step.part)] for step in kept
        ],
        "events": [
            [event.at, event.handle, event.what.name, event.count, event.by, event.priority, event.request]
            for event in events
            if event.handle not in over
        ],
    }  # fmt: skip
    return zlib.compress(json.dumps(whole, separators=(",", ":")).encode(), 6)


def unpacked(data: bytes) -> Trace:
    """A trace whose clock stands where it was packed. ValueError for what `packed` did not make."""
    try:
        whole = json.loads(zlib.decompress(data))
        version = whole["version"]
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError("these are not the bytes of a trace") from error
    if version != _VERSION:
        raise ValueError(f"a trace of version {version} cannot be read, only of version {_VERSION}")
    trace = Trace(clock=lambda: float(whole["now"]))
    for at, handle, what, count, by, priority, request in whole["events"]:
        trace.keep(Event(at, handle, What[what], count, by, priority, request))
    for number, times, numbers, level, layers, part in whole["steps"]:
        trace.record(Step(number, Times(*times), array("q", numbers), Level(*level), layers, Part(part)), [])
    return trace
