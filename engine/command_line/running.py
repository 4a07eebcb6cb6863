"""Requests through one engine to their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.engine import Engine
from engine.progress_line import ProgressLine
from engine.request import Outcome, Priority, Request


def settled(engine: Engine, requests: Iterable[Request]) -> dict[Request, Outcome]:
    """What became of each; equal requests are computed once. A terminal is told how far they are."""
    distinct = list(dict.fromkeys(requests))
    for handle, request in enumerate(distinct):
        engine.submit(handle, request, Priority.ROUTINE)
    outcomes: dict[int, Outcome] = {}
    line = ProgressLine(engine.scheduler.progress, range(len(distinct)))
    try:
        while engine.scheduler.has_work:
            outcomes.update((outcome.handle, outcome) for outcome in engine.step())
            line.look()
    finally:
        line.close()
    return {request: outcomes[handle] for handle, request in enumerate(distinct)}


def results(engine: Engine, requests: Iterable[Request]) -> dict[Request, Any]:
    """The result of each; the first failure is raised, because a table with holes is no answer."""
    outcomes = settled(engine, requests)
    for outcome in outcomes.values():
        if outcome.error is not None:
            raise outcome.error
    return {request: outcome.result for request, outcome in outcomes.items()}


def origin(engine: Engine) -> dict[str, Any]:
    """What stands on every row: where its numbers come from."""
    return {"batch_invariant": engine.batch_invariant, "fingerprint": engine.fingerprint}
