"""Facts go up: upper parts register plain functions, called in order inside the transaction that makes the fact true."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine_queue.models import Job, Result, Run


@dataclass(frozen=True)
class Fact:
    """Something the engine queue has just made true about a run."""

    kind: Literal["started", "results", "scored", "attention"]
    run: Run
    job: Job | None = None
    results: Sequence[Result] = field(default_factory=tuple)
    worker: str = ""
    reason: str = ""  # reason code, for `attention`


_before: list[Callable[[Run], int | None]] = []
_listeners: list[Callable[[Fact], None]] = []


def before_run(fn: Callable[[Run], int | None]) -> None:
    """Register what must be locked before the run; it may return the version that the results will carry."""
    _before.append(fn)


def on_result(fn: Callable[[Fact], None]) -> None:
    """Register a listener; listeners are called in the order of their registration."""
    _listeners.append(fn)


def lock_before(run: Run) -> int | None:
    """Take the locks that stand above the run; the version for its results, or None where nobody gave one."""
    versions = [fn(run) for fn in _before]
    return next((version for version in versions if version is not None), None)


def tell(fact: Fact) -> None:
    """Call every listener, in order, inside the caller's transaction."""
    for listener in _listeners:
        listener(fact)
