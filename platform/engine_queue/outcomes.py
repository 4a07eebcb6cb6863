"""Facts go up in one way only: upper parts register plain functions here, called inside the fact's own transaction.

Two ordered lists. `before_run` functions lock what stands above a run, first of all locks in every writing transaction
(lock order: order → run → job → result → drift → audit, outbox). `on_result` functions hear what happened.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine_queue.models import Job, Result, Run

Kind = Literal["started", "results", "scored", "attention", "resumed", "moved"]


@dataclass(frozen=True)
class Fact:
    """Something that is true once the transaction commits. The last results of a run are two facts: results, scored.

    `moved` changes no row above: something of the run runs, pauses or goes on, and pages want to hear of it.
    """

    kind: Kind
    run: Run
    job: Job | None = None
    results: Sequence[Result] = ()
    worker: str = ""  # printed name of the process that says so
    reason: str = ""  # code, for `attention`


BeforeRun = Callable[[Run], int | None]
OnResult = Callable[[Fact], None]

_before: list[BeforeRun] = []
_listeners: list[OnResult] = []


def before_run(function: BeforeRun) -> None:
    """Register a function that locks the owner of a run and says which version this transaction's results will carry."""
    _before.append(function)


def on_result(function: OnResult) -> None:
    """Register a function that hears every fact, in the order of registration. What it raises undoes the fact."""
    _listeners.append(function)


def registered() -> tuple[list[BeforeRun], list[OnResult]]:
    """Who is registered, in order."""
    return list(_before), list(_listeners)


def lock(run: Run) -> int | None:
    """Take the locks above a run; the version that results of this transaction carry, or None where nothing stands above."""
    versions = [version for function in _before if (version := function(run)) is not None]
    return versions[0] if versions else None


def report(fact: Fact) -> None:
    """Tell everybody, inside the caller's transaction."""
    for function in _listeners:
        function(fact)
