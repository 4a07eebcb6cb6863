"""A trace as JSON in Chrome's Trace Event Format, which Perfetto opens: a process for the engine, one with a track a request.

Spans are complete events (X) and never overlap on a track; what happens is an instant (i); a flow (s, f) leads from a STAT request
to each that it stopped or sent away; how full pool and arena are is a counter (C). Times are whole microseconds: a reader that
rounds start and length by itself would find spans that overlap.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from engine.happening import What
from engine.lanes import Lane, Seen, Span, Stay, seen
from engine.request import Priority
from engine.trace import Event, Kind, Step, Trace

_ENGINE, _REQUESTS = 1, 2
_VERBS, _PASSES = 1, 2  # tracks of the engine
_COUNTED = {
    What.STOPPED: "layers", What.RESUMED: "layers", What.ABANDONED: "tokens", What.GIVEN_UP: "positions", What.AGAIN: "positions",
    What.DRAINS: "blocks", What.TO_DISK: "blocks", What.FROM_DISK: "blocks", What.RETURNS: "blocks",
}  # fmt: skip
_BEHIND = {Stay.FROZEN: "layers"}  # what the number of a stay counts; blocks for all others

Json = dict[str, Any]
Micros = Callable[[float], int]


def chrome(trace: Trace, about: str, last: float | None = None) -> str:
    """The trace, or its last so many seconds; `about` says of what."""
    found = seen(trace, last)

    def micros(at: float) -> int:
        return max(0, int((at - found.begin) * 1e6))

    tracks = {lane.handle: number for number, lane in enumerate(found.lanes, start=1)}
    spans, others = list(_verbs(found.steps, micros)) + list(_passes(found, micros)), list(_levels(found.steps, micros))
    for lane in found.lanes:
        spans += _work(lane, tracks[lane.handle], micros)
        others += (_instant(event, tracks[lane.handle], micros) for event in lane.events)
    events = sorted(spans + others, key=itemgetter("ts"))
    flows = _flows(found.lanes, tracks, spans, micros)
    whole = {"displayTimeUnit": "ms", "otherData": {"about": about}, "traceEvents": [*_names(found.lanes, tracks), *events, *flows]}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


def _names(lanes: Iterable[Lane], tracks: dict[int, int]) -> Iterator[Json]:
    for pid, name in ((_ENGINE, "engine"), (_REQUESTS, "requests")):
        yield _named(pid, 0, "process_name", name=name)
        yield _named(pid, 0, "process_sort_index", sort_index=pid)
    yield _named(_ENGINE, _VERBS, "thread_name", name="schedule, run, postprocess")
    yield _named(_ENGINE, _PASSES, "thread_name", name="passes that stand still")
    for lane in lanes:
        yield _named(_REQUESTS, tracks[lane.handle], "thread_name", name=lane.name)
        yield _named(_REQUESTS, tracks[lane.handle], "thread_sort_index", sort_index=tracks[lane.handle])


def _named(pid: int, tid: int, what: str, **args: Any) -> Json:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": args}


def _span(pid: int, tid: int, name: str, cat: str, start: int, end: int, **args: Any) -> Json:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": cat, "ts": start, "dur": max(0, end - start), "args": args}


def _verbs(steps: Iterable[Step], micros: Micros) -> Iterator[Json]:
    for step in steps:
        began, scheduled, ran, ended = map(micros, step.times)
        tokens = sum(mark.tokens for mark in step.marks)
        more = {"part": (step.part.name or "").lower()} if step.part else {}
        yield _span(
            _ENGINE, _VERBS, f"step {step.number}", "step", began, ended, rows=step.rows, tokens=tokens, layers=step.layers, **more
        )
        yield _span(_ENGINE, _VERBS, "schedule", "verb", began, scheduled)
        yield _span(_ENGINE, _VERBS, "run", "verb", scheduled, ran)
        yield _span(_ENGINE, _VERBS, "postprocess", "verb", ran, ended)


def _passes(found: Seen, micros: Micros) -> Iterator[Json]:
    for one in found.stood:
        name = f"stopped after layer {one.layers}" + (", abandoned" if one.abandoned else "")
        yield _span(
            _ENGINE, _PASSES, name, "pass", micros(one.step.times.ran), micros(one.until), rows=one.step.rows, layers=one.layers,
            stat=one.by, abandoned=one.abandoned,
        )  # fmt: skip


def _levels(steps: Iterable[Step], micros: Micros) -> Iterator[Json]:
    """Counters, as the rows of each step begin."""
    for step in steps:
        level, at = step.level, micros(step.times.scheduled)
        blocks = {"used": level.used, "draining": level.draining, "cached": level.cached, "free": level.free}
        yield _counter("blocks", at, **blocks)
        yield _counter("arena", at, used=level.arena, free=level.arena_total - level.arena)
        yield _counter("swap files", at, files=level.files)
        yield _counter("swap file bytes", at, bytes=level.file_bytes)
        yield _counter("requests", at, rows=step.rows, waiting=level.waiting)
        yield _counter("tokens", at, tokens=sum(mark.tokens for mark in step.marks))


def _counter(name: str, at: int, **values: int) -> Json:
    return {"ph": "C", "pid": _ENGINE, "tid": 0, "name": name, "ts": at, "args": values}


def _work(lane: Lane, tid: int, micros: Micros) -> Iterator[Json]:
    for row in lane.rows:
        (step, mark), kind = row[:2], Kind(row.mark.kind).name.lower()
        name = f"{kind} again" if row.again else kind
        yield _span(
            _REQUESTS, tid, name, kind, micros(step.times.scheduled), micros(step.times.ran), step=step.number, first=mark.start,
            tokens=mark.tokens, priority=Priority(mark.priority).name.lower(), layers=[row.first_layer, row.last_layer],
        )  # fmt: skip
    for span in lane.spans:
        begin, end = micros(span.begin), micros(span.end)
        if end > begin:
            yield _span(_REQUESTS, tid, _stay(span), "stay", begin, end, **_behind(span))


def _stay(span: Span) -> str:
    return f"{span.stay} after layer {span.number}" if span.stay is Stay.FROZEN else span.stay.value


def _behind(span: Span) -> Json:
    return {_BEHIND.get(span.stay, "blocks"): span.number} if span.number else {}


def _instant(event: Event, tid: int, micros: Micros) -> Json:
    args: Json = {_COUNTED[event.what]: event.count} if event.what in _COUNTED else {}
    if event.what is What.RECLASSED:
        args["priority"] = Priority(event.count).name.lower()
    if event.by:
        args["stat"] = event.by
    place = {"pid": _REQUESTS, "tid": tid, "ts": micros(event.at)}
    return {"ph": "i", "s": "t", **place, "name": event.what.value, "cat": "life", "args": args}


def _flows(lanes: Iterable[Lane], tracks: dict[int, int], spans: Iterable[Json], micros: Micros) -> Iterator[Json]:
    """An end of a flow belongs to the span of its track that lies there: where there is none yet, to the next."""
    by_track: dict[int, list[Json]] = {}
    for span in spans:
        if span["pid"] == _REQUESTS and span["dur"] > 0:
            by_track.setdefault(span["tid"], []).append(span)
    numbers = itertools.count(1)
    for lane in lanes:
        for event in (event for event in lane.events if event.by in tracks):
            leaves = _under(by_track.get(tracks[event.by], ()), micros(event.at))
            arrives = None if leaves is None else _under(by_track.get(tracks[lane.handle], ()), leaves)
            if leaves is None or arrives is None:
                continue
            same = {"pid": _REQUESTS, "cat": "stat", "name": event.what.value, "id": next(numbers)}
            yield {"ph": "s", "tid": tracks[event.by], "ts": leaves, **same}
            yield {"ph": "f", "bp": "e", "tid": tracks[lane.handle], "ts": arrives, **same}


def _under(spans: Iterable[Json], at: int) -> int | None:
    """The first time from `at` on that lies in one of the spans."""
    return min((max(at, span["ts"]) for span in spans if span["ts"] + span["dur"] > at), default=None)
