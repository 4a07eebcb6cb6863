"""Loads that nobody has chosen: machine, settings, requests and arrivals are all drawn from a seed, and what was foretold at some
moment is kept to be compared with what came. Times are made up: nothing here reads a clock.
"""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass

from engine.config import EngineConfig
from engine.forecast import Forecast, Rates, forecast, work
from engine.limits import Limits
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Request, Score
from engine.scheduler import Scheduler
from tests.engine.driving import echo, scheduler

BELOW = (Priority.ASAP, Priority.URGENT, Priority.ROUTINE)
_ARRIVING = 3000  # steps after the forecast in which somebody may come


@dataclass(frozen=True)
class Told:
    """What was foretold of a request at a moment, and when it ended."""

    forecast: Forecast
    at: float
    ended: float
    priority: Priority

    @property
    def held(self) -> bool:
        """Whether it ended in the range."""
        return self.forecast.earliest <= self.ended <= self.forecast.latest


@dataclass(frozen=True)
class Kind:
    """What makes a load harder to foretell than one that was all there at the beginning on a steady machine."""

    stat: float = 0.0  # STAT requests a step at most
    bursts: bool = False  # they come several at a time
    more: float = 0.0  # others a step at most that come all the time, and stand behind in the line
    above: float = 0.0  # as many of any class below STAT, of which some stand before
    noise: float = 0.15  # relative spread of a step at most
    deep: float = 0.0  # part of a token's time at most that its place in the context adds, for each thousand before it


KINDS = {
    "at once": Kind(),
    "STAT comes": Kind(stat=0.05),
    "STAT comes in bursts": Kind(stat=0.01, bursts=True),
    "others come behind": Kind(more=0.3),
    "others come before": Kind(above=0.1),
    "a machine that wavers": Kind(noise=0.6),
    "a deep context costs more": Kind(deep=1.0),
    "all of it": Kind(stat=0.01, bursts=True, more=0.2, above=0.05, noise=0.4, deep=0.5),
}


class Load:
    """One of a kind. `play` runs it to its end."""

    def __init__(self, seed: int, kind: Kind) -> None:
        chance = self.chance = random.Random(seed)
        chunk = chance.choice((16, 32, 64, 128))
        config = EngineConfig(
            slots=chance.randint(2, 16), token_budget=chunk * chance.choice((1, 2, 4)), chunk=chunk, grid=16,
            blocks=chance.randint(140, 600), block_size=16, long=chance.choice((256, 4096)),
        )  # fmt: skip
        self.kind = dataclasses.replace(
            kind, stat=kind.stat * chance.random(), more=kind.more * chance.random(),
            above=kind.above * chance.random(), noise=kind.noise * chance.random(),
        )  # fmt: skip
        self.step_seconds, self.token_seconds = 10 ** chance.uniform(-3, -1.5), 10 ** chance.uniform(-4.5, -3)
        self.deep, self.drawn = kind.deep * chance.random() / 1000, chance.random()
        self.longest, self.windows = chance.uniform(1.5, 2.9), [self._tokens(2.6) for _ in range(3)]
        self.now, self.next, self.rates = 1000.0, 1, Rates()
        self.policy: Scheduler = scheduler(config, Limits(11, 4096), lambda: self.now)
        self.ended: dict[int, Outcome] = {}
        self.classes: dict[int, Priority] = {}

    def _tokens(self, most: float) -> tuple[int, ...]:
        return tuple(self.chance.choices(range(11), k=int(10 ** self.chance.uniform(1, most))))

    def _request(self, *, short: bool) -> Request:
        if short:
            tokens = self._tokens(2.3)
            return Generate(tokens, self.chance.randint(1, 16)) if self.chance.random() < 0.5 else Score(tokens)
        if self.chance.random() < self.drawn:
            return Generate(self._tokens(self.longest), int(10 ** self.chance.uniform(0.3, 2)))
        if self.chance.random() < 0.4:
            window = self.chance.choice(self.windows)
            at = self.chance.randint(1, len(window) - 1)
            return Score(window, REFERENCE, Branch(at, ((window[at] + 1) % 11, *window[at + 1 :])))
        return Score(self._tokens(self.longest))

    def add(self, priority: Priority) -> None:
        """One more comes."""
        request = self._request(short=priority is Priority.STAT)
        self.policy.add(self.next, request, priority, self.now)
        self.rates.coming[priority].add(work(request))
        self.classes[self.next], self.next = priority, self.next + 1

    def step(self, *, arriving: bool) -> None:
        """One step, and who comes before it."""
        if arriving and self.chance.random() < self.kind.stat:
            for _ in range(self.chance.randint(2, 8) if self.kind.bursts else 1):
                self.add(Priority.STAT)
        if arriving and self.chance.random() < self.kind.more:
            self.add(Priority.ROUTINE)
        if arriving and self.chance.random() < self.kind.above:
            self.add(self.chance.choice(BELOW))
        batch, parts, weight = self.policy.schedule(self.now), [0] * len(Priority), 0.0
        for row in batch.rows:
            parts[self.policy.described(row.handle)[0]] += len(row.tokens)
            weight += len(row.tokens) * (1 + self.deep * row.start)
        below = self.policy.has_below
        wavers = max(0.1, self.chance.gauss(1, self.kind.noise / 2))
        seconds = (self.step_seconds + self.token_seconds * weight) * wavers
        self.now += seconds
        self.ended |= {outcome.handle: outcome for outcome in self.policy.postprocess(batch, echo(batch))}
        if batch.rows:
            self.rates.step(seconds, parts, below=below)

    def play(self) -> list[Told]:
        """Some requests run for a while, more come, and of all that are open the end is foretold; then it is waited for."""
        for _ in range(2):
            for _ in range(self.chance.randint(10, 60)):
                self.add(self.chance.choice(BELOW))
            for _ in range(self.chance.randint(20, 200)):
                self.step(arriving=True)
        told, at = forecast(self.policy.pending(), self.rates, self.policy.room, self.now), self.now
        steps = 0
        while any(handle not in self.ended for handle in told):
            self.step(arriving=steps < _ARRIVING)
            steps += 1
        return [Told(one, at, self.ended[handle].finished_at, self.classes[handle]) for handle, one in told.items()]
