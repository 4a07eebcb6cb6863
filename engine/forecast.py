"""When open requests will start and end, from what steps have cost lately. Pure: rates and a snapshot in, times out.

A step that computes n tokens is taken to last a + b·n seconds; a and b are fitted to recent steps. The steps to come are played
through in the order in which requests start, as many at once as there are slots and blocks, from one end of a prompt, or of a
request, to the next: for the first `_PLAYED` requests, whose throughput is that of all behind them.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.request import Generate, Priority, Request, Score
from engine.sequence import tokens_of

_MEMORY = 256  # steps over which averages move
_PLAYED = 512  # requests that are played through
_SIGHT = 8  # how far behind one that does not fit another is looked for
_ERROR = 0.12  # relative error that no measurement makes smaller: steps to come differ from those that were
_STEPS = 2  # steps by which even the end of one that is nearly there can be missed
_DOUBT, _MOST = 4, 0.8  # pieces of work that halve the doubt whether more will come; part of time that it takes at most
_LONG, _FEW = 4096, 32  # steps, and times, over which averages of STAT move


@dataclass(frozen=True, slots=True)
class Forecast:
    """Times by the clock of the engine. `earliest` and `latest` are for the end, from the spread of recent steps and from what
    more urgent classes have lately taken.
    """

    ahead: int  # requests that start before it; 0: it runs or is the next
    to_go: int  # tokens to compute for it, those of its trunk apart
    start: float  # when it began, or will
    finish: float
    earliest: float
    latest: float


@dataclass(slots=True)
class Pending:
    """An open request, or a trunk, as it stands."""

    handle: int
    priority: int
    prompt: float  # tokens to go that can be computed several at a time, `pace` a step
    draws: float  # tokens to go that come one a step
    pace: int
    long: bool = False  # others of its class are dealt tokens before it, and it has a share of theirs
    blocks: int = 0  # to be promised when it starts
    back: int = 0  # that come free when it ends
    started_at: float | None = None
    running: bool = False
    trunk: int | None = None  # handle of the trunk at which it waits; those of trunks are negative

    @property
    def to_go(self) -> float:
        """Tokens."""
        return self.prompt + self.draws


@dataclass(frozen=True, slots=True)
class Room:
    """What limits how many run at once, and how much a step computes."""

    slots: int
    spare: int  # blocks
    budget: int  # tokens a step
    beside: float = 1.0  # tokens below STAT beside one of STAT
    long: float = 1.0  # tokens of long ones beside one of others
    grid: int = 1  # … of either at least so many in all, and a chunk that is cut short is cut to a multiple


class Moving:
    """A mean over about so many of the latest values; `count` is how many it stands on."""

    def __init__(self, memory: int) -> None:
        self._keep, self.count, self._sum = 1 - 1 / memory, 0.0, 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.count, self._sum = self.count * self._keep + 1, self._sum * self._keep + value

    @property
    def mean(self) -> float:
        """0 where there was none."""
        return self._sum / self.count if self.count else 0.0


class Stat:
    """What steps of STAT have lately meant for the classes below."""

    def __init__(self) -> None:
        self._seconds = Moving(_LONG), Moving(_LONG)  # without STAT, and with it
        self._below = Moving(_LONG), Moving(_LONG)  # seconds with work below beside it, and tokens of that
        self._length, self._squares = Moving(_FEW), Moving(_FEW)  # of the times in which STAT ran without a break
        self._present = 0.0

    def step(self, seconds: float, tokens: Sequence[int], idle: float, *, below: bool) -> None:
        """A step took so long and computed so many tokens of each class, after so many idle seconds."""
        stat = tokens[Priority.STAT] > 0
        self._seconds[0].add(idle + (0.0 if stat else seconds))
        self._seconds[1].add(seconds if stat else 0.0)
        if below and stat:
            self._below[0].add(seconds)
            self._below[1].add(sum(tokens[Priority.ASAP :]))
        if self._present and (idle or not stat):
            self._length.add(self._present)
            self._squares.add(self._present**2)
            self._present = 0.0
        if stat:
            self._present += seconds

    def taken(self, rate: float) -> float:
        """The part of time that is lost to those below, who would compute so many tokens a second alone: that of STAT, less what
        they have computed beside it.
        """
        free, busy = (seconds.mean for seconds in self._seconds)
        if not busy or not rate:
            return 0.0
        seconds, tokens = self._below
        beside = min(1.0, tokens.mean / seconds.mean / rate) if seconds.mean else 0.0
        return min(0.9, busy / (free + busy) * (1 - beside))

    def delay(self, seconds: float, rate: float) -> tuple[float, float]:
        """How much longer work of so many seconds, at so many tokens a second, takes for STAT to come, and the standard deviation
        of that: it comes at random and stays as long as it has lately; how often it comes is known the worse the fewer there were.
        """
        taken = self.taken(rate)
        more, lasts = seconds * taken / (1 - taken), self._length.mean
        if not more:
            return 0.0, 0.0
        each = self._squares.mean / lasts if lasts else self._present
        return more, math.sqrt(more * each + more * more / (1 + self._length.count))


class Coming:
    """Work that comes for one class: tokens a step, and in how large pieces. The largest piece is left out, which may have been
    there from the beginning, or the only one of its kind.
    """

    def __init__(self) -> None:
        self._tokens, self._pieces, self._squares = Moving(_LONG), Moving(_FEW), Moving(_FEW)
        self._largest = self._now = 0.0

    def add(self, tokens: int) -> None:
        """A request has come with so much work."""
        self._now += tokens

    def step(self) -> None:
        """A step begins: what came before it was one piece."""
        self._tokens.add(self._now)
        if self._now:
            self._pieces.add(self._now)
            self._squares.add(self._now**2)
            self._largest, self._now = max(self._largest, self._now), 0.0

    @property
    def pieces(self) -> float:
        """On how many it stands."""
        return max(0.0, self._pieces.count - 1)

    @property
    def tokens(self) -> float:
        """A step, and less where they stand on little."""
        known, count = self.pieces / (self.pieces + _DOUBT), self._tokens.count
        return known * max(0.0, self._tokens.mean - self._largest / count) if count else 0.0

    @property
    def each(self) -> float:
        """Tokens of the piece that a token belongs to, on average."""
        return self._squares.mean / self._pieces.mean if self._pieces.mean else 0.0


class Rates:
    """Moving averages over recent steps; the engine's thread owns it, any may read."""

    def __init__(self) -> None:
        self._tokens, self._seconds, self._squares, self._products, self._spread = (Moving(_MEMORY) for _ in range(5))
        self.stat, self.coming = Stat(), [Coming() for _ in Priority]
        self._stopped = [0.0, 0.0]  # seconds of the pass that stands still, and of one that does so beside it

    def stopped(self, seconds: float, *, beside: bool = False) -> None:
        """A part of a pass took so long; the pass goes on later."""
        self._stopped[beside] += seconds

    def step(
        self,
        seconds: float,
        tokens: Sequence[int],
        *,
        resumed: bool = False,
        beside: bool = False,
        idle: float = 0.0,
        below: bool = True,
    ) -> None:
        """A step took so long and computed so many tokens of each class, after so many idle seconds; `beside` a pass that stands
        still; `below`: while somebody below STAT held a slot.
        """
        if resumed:
            seconds += self._stopped[beside]
        self._stopped[beside:] = [0.0] * (2 - beside)  # of others nothing will go on
        count = sum(tokens)
        expected = self.seconds(count)
        if expected > 0:
            self._spread.add(((seconds - expected) / expected) ** 2)
        self._tokens.add(count)
        self._seconds.add(seconds)
        self._squares.add(count * count)
        self._products.add(count * seconds)
        self.stat.step(seconds, tokens, idle, below=below)
        for coming in self.coming:
            coming.step()

    def before(self, priority: int, seconds: float, rate: float) -> tuple[float, float]:
        """How much longer one of a class below STAT waits that would start in so many seconds, at so many tokens a second, for
        those who come meanwhile in the classes above it; and the standard deviation of that.
        """
        above = self.coming[Priority.ASAP : priority]
        tokens = sum(coming.tokens for coming in above)
        if not tokens or not rate:
            return 0.0, 0.0
        part = min(_MOST, tokens / self.lasts / rate)
        more, pieces = seconds * part / (1 - part), sum(coming.pieces for coming in above)
        each = sum(coming.tokens * coming.each for coming in above) / tokens / rate
        return more, math.sqrt(more * each + more * more / (1 + pieces))

    @property
    def known(self) -> bool:
        """Whether anything has been measured."""
        return self._seconds.mean > 0

    @property
    def lasts(self) -> float:
        """Seconds of a usual step."""
        return self._seconds.mean

    @property
    def tokens_per_second(self) -> float:
        """Of all classes."""
        return self._tokens.mean / self._seconds.mean if self.known else 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of a step's seconds, relative to what was expected."""
        return math.sqrt(self._spread.mean)

    def seconds(self, tokens: float) -> float:
        """What a step of so many tokens is expected to take, by least squares; 0 where nothing is known."""
        mean, lasts = self._tokens.mean, self._seconds.mean
        if not lasts:
            return 0.0
        variance = self._squares.mean - mean * mean
        if variance <= 1e-9 * mean * mean:
            return lasts * max(1.0, tokens / mean)
        slope = min(max(0.0, (self._products.mean - mean * lasts) / variance), lasts / mean)
        return lasts + slope * (tokens - mean)


class _Play:
    """Steps to come. `time` counts from now on."""

    def __init__(self, waiting: list[Pending], running: list[Pending], rates: Rates, room: Room) -> None:
        self._waiting, self._running, self._rates, self._room = waiting, running, rates, room
        self._spare, self.time, self.steps, self.tokens = room.spare, 0.0, 0.0, 0.0
        self.rate = 0.0  # tokens a second
        self._behind: dict[int, list[Pending]] = {}
        self.starts: dict[int, float] = {}
        self.ends: dict[int, tuple[float, float]] = {}  # seconds and steps from now
        self.order: dict[int, int] = {}

    def behind(self, trunk: int, pending: Pending) -> None:
        """One waits at a trunk."""
        self._behind.setdefault(trunk, []).append(pending)

    def play(self, most: int) -> list[Pending]:
        """Play until all have ended or so many have started; those who have not ended."""
        while self._waiting or self._running:
            self._admit()
            self._advance()
            if len(self.order) >= most:
                break
        return [*self._running, *self._waiting, *(one for waiters in self._behind.values() for one in waiters)]

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._room.slots:
            sight = enumerate(self._waiting[:_SIGHT])
            place = next((place for place, one in sight if one.blocks <= self._spare), None)
            if place is None:
                if self._running:
                    return
                place = 0
            one = self._waiting.pop(place)
            if one.handle >= 0:
                self.order[one.handle] = len(self.order)
            self.starts[one.handle] = self.time
            self._spare -= one.blocks
            self._running.append(one)
            self._running.sort(key=lambda pending: (pending.priority, pending.long))

    def _advance(self) -> None:
        """As many steps as nothing changes in."""
        dealt = self._deal()
        tokens = sum(given for _, given in dealt)
        lasting = [(one.prompt or one.draws) // given for one, given in dealt if given]
        steps = 0.0 if any(not one.to_go for one in self._running) else max(1.0, min(lasting, default=1.0))
        self.time += steps * self._rates.seconds(tokens)
        self.steps, self.tokens = self.steps + steps, self.tokens + steps * tokens
        for one, given in dealt:
            if one.prompt:
                one.prompt -= given * steps
            else:
                one.draws -= given * steps
        for one in [one for one in self._running if not one.to_go]:
            self._end(one)

    def _deal(self) -> list[tuple[Pending, float]]:
        """Tokens a step for each that runs, in the order and by the shares of `Slots.deal`."""
        room, dealt = self._room, list[tuple[Pending, float]]()
        left = float(max(room.budget, room.grid))
        given = 0.0
        for (priority, long), group in itertools.groupby(self._running, key=lambda one: (one.priority, one.long)):
            if priority != Priority.STAT and given and dealt[-1][0].priority == Priority.STAT:
                left = min(left, max(room.grid, given * room.beside))
            limit = min(left, max(room.grid, given * room.long)) if long and given else left
            for one in group:
                tokens = self._tokens(one, limit)
                dealt.append((one, tokens))
                limit, left, given = limit - tokens, left - tokens, given + tokens
        return dealt

    def _tokens(self, one: Pending, limit: float) -> float:
        wanted = min(one.pace, one.prompt) if one.prompt else 1.0
        if wanted <= limit:
            return wanted
        return limit // self._room.grid * self._room.grid if one.prompt else 0.0

    def _end(self, one: Pending) -> None:
        self._running.remove(one)
        self._spare += one.back
        self.ends[one.handle] = self.time, self.steps
        for waiter in self._behind.pop(one.handle, ()):
            if waiter.to_go:
                place = bisect.bisect_left(self._waiting, waiter.priority, key=lambda pending: pending.priority)
                self._waiting.insert(place, waiter)
            else:
                self.starts[waiter.handle], self.ends[waiter.handle] = self.starts.get(one.handle, 0.0), self.ends[one.handle]
                self.order.setdefault(waiter.handle, len(self.order))


def work(request: Request) -> int:
    """Tokens to compute for a request that comes, those of its trunk apart."""
    count = len(tokens_of(request))
    if isinstance(request, Generate):
        return count + request.limit - 1
    return count - request.branch.at if isinstance(request, Score) and request.branch is not None else count


def forecast(pending: Iterable[Pending], rates: Rates, room: Room, now: float) -> dict[int, Forecast]:
    """By handle; nothing as long as no step has been measured. Those who wait come in the order in which they would start."""
    if not rates.known:
        return {}
    entries = list(pending)
    runs = sorted((one for one in entries if one.running), key=lambda one: (one.priority, one.long))
    trunks = {one.handle for one in entries}
    play = _Play([one for one in entries if not one.running and one.trunk not in trunks], runs, rates, room)
    for one in entries:
        if one.trunk is not None and one.trunk in trunks:
            play.behind(one.trunk, one)
    to_go = {one.handle: round(one.to_go) for one in entries}
    rest = play.play(_PLAYED)
    rate = play.tokens / play.time if play.time else rates.tokens_per_second
    play.rate = rate
    for one in rest:
        play.order.setdefault(one.handle, len(play.order))
        play.starts.setdefault(one.handle, play.time)
        play.time += one.to_go / rate
        play.steps += one.draws + one.prompt / one.pace
        play.ends[one.handle] = play.time, play.steps
    return {one.handle: _told(one, play, rates, now, to_go[one.handle]) for one in entries if one.handle >= 0}


def _told(one: Pending, play: _Play, rates: Rates, now: float, to_go: int) -> Forecast:
    seconds, steps = play.ends[one.handle]
    error = min(0.5, _ERROR + 2 * rates.spread / math.sqrt(max(1, steps))) * seconds + _STEPS * rates.lasts
    more, spread = (0.0, 0.0) if one.priority == Priority.STAT else rates.stat.delay(seconds, play.rate)
    if not one.running:
        longer, wide = rates.before(one.priority, play.starts.get(one.handle, 0.0), play.rate)
        more, spread = more + longer, math.hypot(spread, wide)
    start = one.started_at if one.started_at is not None and one.running else now + play.starts.get(one.handle, 0.0)
    return Forecast(
        ahead=0 if one.running else play.order.get(one.handle, 0),
        to_go=to_go,
        start=start,
        finish=now + seconds + more,
        earliest=now + max(0.0, seconds - error + max(0.0, more - 2 * spread)),
        latest=now + seconds + error + more + 2 * spread,
    )
