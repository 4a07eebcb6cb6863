"""`python -m benchmarks.tap FILE COMMAND …`: a management command whose engine writes down when it was told what.

A line for each request that is submitted, reclassed, held, released or cancelled in an engine, once it is, and for each that ended,
with the time of the machine's clock.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine import Engine, Outcome

VERBS = ("submit", "reclass", "hold", "release", "cancel")
ENDED = "ended"


def tap(write: Callable[[str], object]) -> None:
    """From now on every engine of this process writes its lines."""
    for verb in VERBS:
        setattr(Engine, verb, _tapped(write, verb, getattr(Engine, verb)))
    step = Engine.step

    def stepped(engine: Engine) -> list[Outcome]:
        outcomes = step(engine)
        for one in outcomes:
            write(line(ENDED, one.handle, one.finished_at, one.started_at))
        return outcomes

    Engine.step = stepped  # type: ignore[method-assign]


def line(*said: object) -> str:
    """What was done, to which request, when; of a submission its class, of an end when it had begun."""
    return json.dumps(said) + "\n"


def _tapped(write: Callable[[str], object], verb: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    def call(engine: Engine, handle: int, *rest: Any, **named: Any) -> Any:
        answer = inner(engine, handle, *rest, **named)
        write(line(verb, handle, time.time(), int(rest[1]) if verb == "submit" else None))
        return answer

    return call


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", buffering=1) as out:
        tap(out.write)
        sys.argv[:] = ["manage.py", *sys.argv[2:]]
        runpy.run_path("manage.py", run_name="__main__")
