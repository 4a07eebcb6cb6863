"""What many alternates have in common is computed once: a trunk runs a window, and its branches leave it where they begin to
differ.

A score that may share waits at the trunk of its window: the window's own score until the trunk has ended, an alternate until the
trunk has reached its first changed token. A trunk has the class of its most urgent waiter, computes no further than its waiters
need, and belongs to all of them: when one is cancelled it goes on for the others.
"""

from __future__ import annotations

import bisect
import itertools
import math
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from engine.batch import Extra, Row, RowOutput
from engine.config import EngineConfig
from engine.kinds import Scoring
from engine.ledger import Ledger
from engine.request import PRIVATE, Priority, Score, Sharing
from engine.sequence import Reserve, Sequence, branch_of, reach
from engine.slots import Slots, pace
from engine.waiting import Waiting

Window = tuple[Sharing, tuple[int, ...]]


@dataclass(slots=True, eq=False)
class Trunk(Scoring):
    """The window of its waiters. Its handle is negative and it has no outcome of its own."""

    waiters: dict[int, Sequence] = field(default_factory=dict)
    classes: list[int] = field(default_factory=lambda: [0] * len(Priority))  # waiters of each
    dues: Counter[float] = field(default_factory=Counter)  # of its waiters of STAT, and how many have each
    whole: int = 0  # waiters for all of the window
    branches: list[tuple[int, int]] = field(default_factory=list)  # (at, handle), ascending; some may have left
    foretold: dict[int, float] = field(default_factory=dict)  # log P of a branch's first own token, by handle
    _asked: list[int] = field(default_factory=list)

    @property
    def wanted_from(self) -> int:
        """A branch leaves it after a state of its own."""
        known = len(self.logprobs)
        return min(known, next((at - 1 for at, handle in self.branches if handle in self.waiters), known))

    def between(self, first: int, last: int) -> Iterator[Sequence]:
        """Waiting branches with `first` ≤ at < `last`, ascending."""
        low, high = (bisect.bisect_left(self.branches, (at, -1)) for at in (first, last))
        return (self.waiters[handle] for _, handle in self.branches[low:high] if handle in self.waiters)

    def welcome(self, waiter: Sequence) -> None:
        """One more waits."""
        branch = branch_of(waiter)
        self.waiters[waiter.handle] = waiter
        waiter.place, waiter.trunk = self.waiters, self
        self.count(waiter, 1)
        self.whole += branch is None
        if branch is not None:
            entry = branch.at, waiter.handle
            place = bisect.bisect_left(self.branches, entry)
            if self.branches[place : place + 1] != [entry]:  # it may have left and come again
                self.branches.insert(place, entry)
        self.target = max(self.target, reach(waiter))

    def part(self, waiter: Sequence) -> None:
        """One waits no more."""
        del self.waiters[waiter.handle]
        waiter.place = waiter.trunk = None
        self.count(waiter, -1)
        self.whole -= branch_of(waiter) is None

    def count(self, waiter: Sequence, more: int) -> None:
        """One more, or less, of its class and due time."""
        self.classes[waiter.priority] += more
        if waiter.priority is Priority.STAT:
            self.dues[waiter.due] += more
            if not self.dues[waiter.due]:
                del self.dues[waiter.due]

    @property
    def first_due(self) -> float:
        """By when the first of STAT shall have ended."""
        return min(self.dues, default=math.inf)

    def aim(self) -> None:
        """Compute as far as the waiters need, and no further."""
        while self.branches and self.branches[-1][1] not in self.waiters:
            self.branches.pop()
        self.target = self.need if self.whole else self.branches[-1][0] if self.branches else 0

    def _ask(self, row: Row, end: int) -> None:
        """As any score, and after the last common token of a branch the log-probability of its first own one."""
        Scoring._ask(self, row, end)
        due = list(self.between(row.start + 1, end + 1))
        self._asked = [waiter.handle for waiter in due]
        if due:
            forks = tuple((reach(waiter) - 1 - row.start, waiter.tokens[reach(waiter)]) for waiter in due)
            row.extra = replace(row.extra or Extra(), forks=forks)

    def _keep(self, output: RowOutput) -> None:
        Scoring._keep(self, output)
        if output.extra is not None:
            self.foretold.update(zip(self._asked, output.extra.forks, strict=True))
        self._asked = []


def reclass(trunk: Trunk, waiting: Waiting, slots: Slots) -> None:
    """A trunk has the class of its most urgent waiter, and of STAT the first due time, whether it waits itself or runs, and not for
    longer than that one waits.
    """
    priority, due = next((priority for priority in Priority if trunk.classes[priority]), trunk.priority), trunk.first_due
    if priority != trunk.priority or due != trunk.due:
        waiting.take(trunk)
        trunk.priority, trunk.due = priority, due
        if trunk.running:
            slots.hold(trunk)
        else:
            waiting.append(trunk)


class Trunks:
    """The trunks on their way, by sharing and window."""

    def __init__(self, ledger: Ledger, config: EngineConfig) -> None:
        self._ledger, self._config, self._size, self._off = ledger, config, config.block_size, config.mode == "static"
        self._trunks: dict[Window, Trunk] = {}
        self._handles = itertools.count(-1, -1)

    def __iter__(self) -> Iterator[Trunk]:
        return iter(self._trunks.values())

    def of(self, sequence: Sequence) -> Trunk | None:
        """The trunk at which a sequence waits or could wait."""
        request = sequence.request
        return self._trunks.get((request.sharing, request.tokens)) if isinstance(request, Score) else None

    def waited_for(self, sequence: Sequence) -> Trunk | None:
        """The trunk at which a sequence waits."""
        return cast("Trunk | None", sequence.trunk)

    def join(self, sequence: Sequence) -> Trunk | None:
        """Wait at the trunk of its window, which is made when there is none; None when it has to be computed by itself."""
        request = sequence.request
        if self._off or not isinstance(request, Score) or request.sharing == PRIVATE or request.alternatives:
            return None
        own = self._own(sequence)
        if self._ledger.most(len(request.tokens) - 1) + own > self._ledger.pool.total:
            return None
        trunk = self.of(sequence)
        if trunk is None:
            trunk = Trunk(next(self._handles), Score(request.tokens, request.sharing), sequence.priority, sequence.queued_at,
                          list(request.tokens), target=0, need=len(request.tokens) - 1)  # fmt: skip
            trunk.sharing, trunk.shareable = request.sharing, trunk.need
            self._ledger.settle_kind(trunk)
            self._trunks[request.sharing, request.tokens] = trunk
        elif reach(sequence) <= trunk.exact or self.sooner_alone(trunk, sequence):
            return None
        elif reach(sequence) <= trunk.computed and (sequence.preempted or not self._within(trunk, sequence)):
            return None  # one that gave up what it held must not get it back at once
        elif (trunk.running or trunk.computed) and not self._put_aside(trunk, own):
            return None
        trunk.beside = max(trunk.beside, own)
        trunk.welcome(sequence)
        if trunk.place is None and not trunk.running:  # it is new
            trunk.due = trunk.first_due
        return trunk

    def sooner_alone(self, trunk: Trunk, sequence: Sequence) -> bool:
        """Whether a STAT request does better without a trunk of a lower class: there is room for it now and none for a trunk that
        does not run, or it is estimated to reach its first own token in fewer steps at its own pace, from the blocks it would find.
        """
        if sequence.priority is not Priority.STAT or trunk.priority is Priority.STAT:
            return False
        if not trunk.running and self._ledger.lacking(sequence) <= 0 < self._ledger.lacking(trunk):
            return True
        common, found = reach(sequence), min(reach(sequence), trunk.registered * self._size)
        steps = -(-(common - trunk.computed) // pace(self._config, trunk.need - trunk.computed))
        return steps > -(-(common - found) // pace(self._config, sequence.need - found))

    def put_aside(self, trunk: Trunk) -> None:
        """A trunk starts: one of its branches shall always find room."""
        self._put_aside(trunk, trunk.beside)

    def _put_aside(self, trunk: Trunk, size: int) -> bool:
        reserve = trunk.reserve or Reserve(0, trunk)
        kept = self._ledger.put_aside(reserve, size)
        if kept and size:
            trunk.reserve = reserve
        return kept

    def ripe(self, trunk: Trunk) -> list[Sequence]:
        """Take out the waiters for whom the trunk has come far enough; branches hold what is common and are ready to run on."""
        forked = list(trunk.between(0, trunk.computed + 1))
        for waiter in forked:
            if waiter.handle in trunk.foretold or self._within(trunk, waiter):
                self._fork(trunk, waiter)
        del trunk.branches[: bisect.bisect_left(trunk.branches, (trunk.computed + 1, -1))]
        ended = trunk.whole and trunk.computed >= trunk.need
        whole = [waiter for waiter in trunk.waiters.values() if branch_of(waiter) is None] if ended else []
        for place, waiter in enumerate(whole):
            waiter.logprobs, waiter.computed, waiter.started_at = trunk.logprobs, trunk.need, trunk.started_at
            waiter.interruptions += trunk.interruptions
            waiter.steps, waiter.reused = trunk.steps, trunk.need if place else trunk.reused
        for waiter in forked + whole:
            trunk.part(waiter)
        return forked + whole

    def leave(self, waiter: Sequence) -> Trunk | None:
        """One that has ended leaves the trunk at which it waited, which is returned."""
        trunk = self.waited_for(waiter)
        if trunk is not None:
            trunk.part(waiter)
            trunk.aim()
        return trunk

    def desert(self, trunk: Trunk) -> list[Sequence]:
        """Branches of a trunk that failed, to be computed by themselves: the fault may lie beyond what they need."""
        alone = [waiter for waiter in trunk.waiters.values() if branch_of(waiter) is not None]
        for waiter in alone:
            trunk.part(waiter)
        return alone

    @staticmethod
    def dispensable(branch: Sequence) -> bool:
        """Whether one that waits and holds blocks has not begun, and what it holds would come free with it: its trunk has ended."""
        return branch.started_at is None and (branch.reserve is None or branch.reserve.trunk.reserve is not branch.reserve)

    def give_up(self, waiter: Sequence) -> None:
        """A branch that has left its trunk and not begun gives back what it holds, and is as new."""
        self._ledger.close(waiter)
        self._ledger.leave(waiter)
        waiter.restart()
        waiter.preempted += 1
        waiter.logprobs, waiter.shareable, waiter.reused, waiter.since = array("f"), reach(waiter), 0, math.inf
        self._ledger.settle_kind(waiter)

    def end(self, trunk: Trunk) -> None:
        """It serves nobody any more."""
        request = cast(Score, trunk.request)
        if self._trunks.get((request.sharing, request.tokens)) is trunk:  # while it ended another may have begun
            del self._trunks[request.sharing, request.tokens]

    def close(self, until: float) -> None:
        """Whoever comes from now on takes no trunk that began by then; those on their way go on for who waits at them."""
        for trunk in [trunk for trunk in self if trunk.since <= until]:
            self.end(trunk)

    def _own(self, sequence: Sequence) -> int:
        """Blocks that a branch needs beside those of the trunk."""
        branch, window = branch_of(sequence), len(cast(Score, sequence.request).tokens) - 1
        own = 0 if branch is None else self._ledger.blocks_for(sequence.need) - (branch.at - 1) // self._size
        return min(own, self._ledger.most(window)) if self._ledger.slides(window) else own

    def _within(self, trunk: Trunk, branch: Sequence) -> bool:
        """Whether a trunk that slides still holds what a branch needs that leaves it behind its end."""
        return self._ledger.seen_from(reach(branch) - 1) >= trunk.first

    def _fork(self, trunk: Trunk, waiter: Sequence) -> None:
        """Leave the trunk. Where the first own token is not foretold, because the trunk had passed before the branch came, it is
        read from the hidden state kept at the end of a block, or one token is computed again.
        """
        at, foretold = reach(waiter), trunk.foretold.pop(waiter.handle, None)
        waiter.logprobs = trunk.logprobs[: at - 1]
        if foretold is not None:
            waiter.logprobs.append(foretold)
        kept = at % self._size == 0 and at < waiter.target
        waiter.computed = at if foretold is not None or kept else at - 1
        whole, waiter.slides = waiter.computed // self._size - trunk.first, trunk.slides
        first = self._ledger.seen_from(waiter.computed) if trunk.slides else 0
        self._ledger.adopt(waiter, trunk.blocks[first - trunk.first : whole], first)
        if waiter.computed % self._size and not waiter.done:
            waiter.copy_from = trunk.blocks[whole]
            self._ledger.pool.share([waiter.copy_from])
        waiter.shareable, waiter.reused, waiter.since = 0, waiter.computed, trunk.since
        if waiter.computed and trunk.reserve is not None:  # who holds nothing waits like others, and must keep nothing from them
            waiter.reserve = trunk.reserve
            waiter.reserve.members += 1
