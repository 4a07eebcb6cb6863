"""A scheduler that preempts lower work in every second step: a pass is stopped after some layer while STAT comes, now and then so
large that the pass is abandoned; or a sequence is sent away: to the arena, or so that it finds what it left, or not even that. A
seeded generator draws which.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from engine import loading, selftest
from engine.batch import Batch, RowOutput, Signal
from engine.config import EngineConfig
from engine.forecast import Pending
from engine.freezing import FreezingScheduler
from engine.request import Generate, Outcome, Priority, Request, Score
from engine.sequence import Sequence
from engine.swap.content import Outside
from engine.swap.slots import ArenaSlots
from tests.engine.preempting_out_of_sight import OutOfSight, drawing

FIRST = 10**6  # handle of the first STAT request that comes by itself
_MOST = 12  # of them; then passes are still stopped, and go on at once
_PATIENCE = 3  # times that one sequence is sent away, so that whoever has to begin anew comes to an end
_LAYERS = 3  # after which a pass may be stopped

seen = True  # whether the test that runs may see that it is disturbed


class Forcing(Signal):
    """Raised by whoever may raise it, and once after some layers of a pass."""

    __slots__ = ("_asked", "at")

    def __init__(self) -> None:
        super().__init__()
        self.at, self._asked = -1, False

    @property
    def raised(self) -> bool:  # type: ignore[override]
        return self._asked or 0 <= self.at <= self.layers

    @raised.setter
    def raised(self, value: bool) -> None:
        self._asked = value


class Forced(FreezingScheduler):
    """Stubs, which know no layers, are made to compute a pass that was stopped twice."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self.signal: Forcing = Forcing()
        self.generator = drawing(self.config)
        self.turns = self.disturbed = self.sent_away = self._layers = 0

    def schedule(self, now: float) -> Batch:
        self.signal.at = -1
        if not self.held:  # nobody sends away who is in a pass that was stopped
            self.turns += 1
            if self.turns % 2 == 0:
                self._disturb()
        self._layers = self.signal.layers
        return super().schedule(now)

    def _disturb(self) -> None:
        lower = [one for one in self._slots if one.priority is not Priority.STAT and one.preempted < _PATIENCE]
        if self.generator.random() < 0.5 or not lower:
            self.signal.at = self.signal.layers + self.generator.randint(1, _LAYERS)
            return
        self._send_away(self.generator.choice(lower))

    def _send_away(self, sequence: Sequence) -> None:
        slots, swaps = self.swapping.slots, self.generator.random() < 0.5
        self.swapping.slots = slots if swaps else ArenaSlots(0)
        self._evict(sequence)
        self.swapping.slots = slots
        self.sent_away += 1
        if self.generator.random() < 0.3:
            self.cache.forget()

    def postprocess(self, batch: Batch, outputs: list[RowOutput] | None) -> list[Outcome]:
        knows_no_layers = self.signal.at >= 0 and self.signal.layers == self._layers
        if knows_no_layers and batch.stoppable and not batch.resumes and batch.rows:
            outputs = None
        found = super().postprocess(batch, outputs)
        if outputs is None and self.disturbed < _MOST:
            self.add(FIRST + self.disturbed, self._stat(), Priority.STAT, 0.0)
            self.disturbed += 1
        return [outcome for outcome in found if outcome.handle < FIRST]

    def pending(self) -> list[Pending]:
        return [one for one in super().pending() if one.handle < FIRST]

    def _stat(self) -> Request:
        blocks, size = self.ledger.spare + 1, self.config.block_size
        large = self.generator.random() < 0.3 and blocks * size < min(self.limits.context, 256)
        length = blocks * size + 1 if large else self.generator.randint(2, 38)
        tokens = tuple(index % min(11, self.limits.vocabulary) for index in range(min(length, self.limits.context - 3)))
        return Score(tokens) if large or length % 2 else Generate(tokens, 3)


def everywhere(driving: ModuleType, put: Callable[[object, str, object], None] = setattr) -> None:
    """Every continuous scheduler that `engine` or the tests make is such a one, from where `put` has put it on."""
    put(driving, "outside_of", lambda config: arena(config) if seen else None)
    for module in (loading, selftest, driving):
        put(module, "FreezingScheduler", _made)


def _made(*arguments: object, **named: object) -> FreezingScheduler:
    return (Forced if seen else OutOfSight)(*arguments, **named)


def arena(config: EngineConfig) -> Outside:
    """What a scheduler of a test has outside its pool, where the test does not say it."""
    return Outside(config.arena_blocks)
