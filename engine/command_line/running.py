"""Requests through one engine to their end: all that there are at once, or a stream of any length with a few on their way."""

from __future__ import annotations

import argparse
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.command_line.options import engine_config
from engine.command_line.progress_line import ProgressLine, duration, left
from engine.engine import Engine
from engine.loading import load
from engine.request import Outcome, Priority, Request

_AHEAD = 16  # requests on their way for each slot: enough for branches to find each other, and small beside the engine
WAITING = 4096  # weights of items that may stand behind an unfinished one, whatever they ask for

Item = TypeVar("Item")


def started(options: argparse.Namespace) -> Engine:
    """The engine that the options of a command describe."""
    return load(options.model, config=engine_config(options))


@dataclass(slots=True, eq=False)
class _Answer:
    """A request on its way, or its outcome."""

    outcome: Outcome | None = None


class _Desk:
    """Takes requests to the engine and remembers the last of them: one that comes again soon is not computed again."""

    def __init__(self, engine: Engine, look: Callable[[], None]) -> None:
        self._engine, self._look = engine, look
        self._most = _AHEAD * engine.scheduler.config.slots
        self._handles = itertools.count()
        self._open: dict[int, _Answer] = {}
        self._known: OrderedDict[Request, _Answer] = OrderedDict()

    @property
    def has_room(self) -> bool:
        """Whether more should be asked, so that no slot stays empty."""
        return len(self._open) < self._most

    def ask(self, request: Request) -> _Answer:
        """Where its outcome will be found."""
        answer = self._known.get(request)
        if answer is None:
            answer, handle = _Answer(), next(self._handles)
            self._known[request] = self._open[handle] = answer
            self._engine.submit(handle, request, Priority.ROUTINE)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(request)
        return answer

    def step(self) -> None:
        """One step of the engine, where there is anything to do."""
        if self._open:
            for outcome in self._engine.step():
                self._open.pop(outcome.handle).outcome = outcome
            self._look()


def flow(
    engine: Engine,
    asked: Iterable[tuple[Item, Sequence[Request]]],
    *,
    look: Callable[[], None] = lambda: None,
    weight: Callable[[Item], int] = lambda _: 1,
) -> Iterator[tuple[Item, list[Outcome]]]:
    """Every item with the outcomes of its requests, in order, however many come: items of `WAITING` weights are in memory at most.

    `asked` is read a little ahead, and before every step, so that no slot is empty between two items. Equal requests close to each
    other are computed once. `look` is called after every step.
    """
    items, desk = iter(asked), _Desk(engine, look)
    ahead: deque[tuple[Item, list[_Answer]]] = deque()
    more, waiting = True, 0
    while more or ahead:
        while more and desk.has_room and waiting < WAITING:
            found = next(items, None)
            if found is None:
                more = False
            else:
                waiting += weight(found[0])
                ahead.append((found[0], [desk.ask(request) for request in found[1]]))
        while ahead and all(answer.outcome is not None for answer in ahead[0][1]):
            item, answers = ahead.popleft()
            waiting -= weight(item)
            yield item, [answer.outcome for answer in answers if answer.outcome is not None]
        desk.step()


def settled(engine: Engine, requests: Iterable[Request], shown: bool | None = None) -> dict[Request, Outcome]:
    """What became of each; equal requests are computed once. `shown` is that of the progress line."""
    distinct = list(dict.fromkeys(requests))
    for handle, request in enumerate(distinct):
        engine.submit(handle, request, Priority.ROUTINE)
    outcomes: dict[int, Outcome] = {}
    line, progress = ProgressLine(shown), engine.scheduler.progress
    wanted = {handle: found[1] for handle in range(len(distinct)) if (found := progress(handle)) is not None} if line.shown else {}

    def words(ran: float) -> str:
        states = [progress(handle) or (whole, whole) for handle, whole in wanted.items()]
        done, whole = (sum(state[part] for state in states) for part in (0, 1))
        share = done / whole if whole else 0.0
        return f"{done:,} of {whole:,} tokens ({share:.0%}) after {duration(ran)}{left(ran, share)}"

    try:
        while engine.scheduler.has_work:
            outcomes.update((outcome.handle, outcome) for outcome in engine.step())
            line.look(words)
    finally:
        line.close()
    return {request: outcomes[handle] for handle, request in enumerate(distinct)}


def results(engine: Engine, requests: Iterable[Request], shown: bool | None = None) -> dict[Request, Any]:
    """The result of each; the first failure is raised, because a table with holes is no answer."""
    outcomes = settled(engine, requests, shown)
    for outcome in outcomes.values():
        if outcome.error is not None:
            raise outcome.error
    return {request: outcome.result for request, outcome in outcomes.items()}


def origin(engine: Engine) -> dict[str, Any]:
    """What stands on every row: where its numbers come from."""
    return {"batch_invariant": engine.batch_invariant, "fingerprint": engine.fingerprint}
