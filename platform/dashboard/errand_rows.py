"""What was asked of workers that run, as the engine page tells it: who, when, what became of it, how long it took."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts.roles import Verb
from dashboard.wording import counted, duration
from engine_queue import selectors
from engine_queue.models import Errand
from foundation.actor import Actor

MOST = 20  # of the newest
_TIMES = {
    "trace_seconds": "its last {}",
    "load_seconds": "loaded in {}",
    "drain_seconds": "drained in {}",
    "unload_seconds": "unloaded in {}",
}
_COUNTS = {"finished": ("job", "finished"), "given_back": ("job", "given back"), "tickets": ("ticket", "passed on")}


@dataclass(frozen=True)
class ErrandRow:
    """One errand."""

    asked_at: datetime
    asked_by: str
    worker: str
    verb: str  # Load | Unload | Trace
    deployment: str
    mark: str  # class of the tag
    state: str
    measured: str  # in words
    said: str  # why it was refused, or what stands in its way
    ended_at: datetime | None
    picture: int | None  # number under which its trace is kept


def rows(actor: Actor) -> list[ErrandRow]:
    """The newest errands that concern a laboratory whose engine this person may look at; open ones first.

    One that concerns no laboratory yet is shown to everybody who may look at the engine anywhere.
    """
    alive = {worker.name for worker in selectors.workers("engine") if worker.alive}
    found = list(selectors.errands(actor.organisations(Verb.VIEW_ENGINE))[:MOST])
    traced = selectors.traced([errand.pk for errand in found])
    return sorted((_row(errand, errand.worker in alive, traced) for errand in found), key=lambda row: row.ended_at is not None)


def _row(errand: Errand, alive: bool, traced: Collection[int]) -> ErrandRow:
    mark, state, said = _state(errand, alive)
    return ErrandRow(
        asked_at=errand.asked_at, asked_by=errand.asked_by, worker=errand.worker, verb=errand.verb.capitalize(),
        deployment=errand.deployment_id, mark=mark, state=state, measured=_measured(errand.measured), said=said,
        ended_at=errand.ended_at, picture=errand.pk if errand.pk in traced else None,
    )  # fmt: skip


def _state(errand: Errand, alive: bool) -> tuple[str, str, str]:
    if errand.state == "done":
        return "ok", "● done", ""
    if errand.state == "refused":
        return "stat", "▲ not done", errand.said
    if not alive:
        return "asap", "▲ open", f"worker {errand.worker} is gone; it ends this when it comes back"
    return ("urgent", "◆ under way", "") if errand.state == "taken" else ("", "○ asked", "the worker looks every second")


def _measured(found: dict[str, Any]) -> str:
    times = [words.format(duration(found[key])) for key, words in _TIMES.items() if key in found]
    counts = [f"{counted(found[key], noun)} {what}" for key, (noun, what) in _COUNTS.items() if found.get(key)]
    return ", ".join([*times, *counts])
