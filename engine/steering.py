"""What people change about a request on its way, in whatever state it is: its class, a pause, an end.

A row that a step computes, or that stands still in a pass, is only marked: it goes when the step, or the pass, has ended. On *hold*
a request keeps what is known of its result, holds neither slot nor blocks, and is no work that anybody waits for.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.admission import Admission
from engine.dues import is_due
from engine.errors import EngineError
from engine.happening import What
from engine.request import Priority, State
from engine.sequence import Sequence
from engine.trunks import Trunk, reclass


class Steering(Admission):
    """Cancel, reclass, hold and release. Each is False where the handle is unknown or has ended."""

    clock: Callable[[], float]
    _in_flight: bool
    _doomed: set[int]  # cancelled while a step computes them
    _pausing: set[int]  # put on hold while a step computes them

    def cancel(self, handle: int) -> bool:
        """Cancel in any state."""
        sequence = self._open(handle)
        if sequence is not None:
            self.swapping.diary.tell(What.CANCEL, handle)
            self._withdraw(sequence)
        return sequence is not None

    def reclass(self, handle: int, priority: Priority, due: float | None = None) -> bool:
        """Give it another class from the next decision on; it is the last in it, or the first if it had run already, and among STAT
        the last of those who are due no later. With a number as `due` it shall have ended by then, else by when it was to before.
        """
        sequence = self._open(handle)
        if sequence is None:
            return False
        trunk, priority, due = self.trunks.waited_for(sequence), Priority(priority), due if is_due(due) else sequence.due
        in_place = priority == sequence.priority and (priority is not Priority.STAT or due == sequence.due)
        if trunk is not None:
            trunk.count(sequence, -1)
        sequence.due = due
        self.dues.add(sequence)
        if priority != sequence.priority:
            self.swapping.diary.tell(What.RECLASSED, handle, priority)
        if trunk is not None:
            self._reclass_waiter(trunk, sequence, priority)
        elif sequence.running:
            sequence.priority = priority
            self._slots.hold(sequence)
        elif handle in self._resting or in_place:
            sequence.priority = priority
        else:
            self._waiting.take(sequence)
            sequence.priority = priority
            self._waiting.append(sequence, first=sequence.started_at is not None)
        return True

    def hold(self, handle: int) -> bool:
        """Let it rest until it is released; one that rests already goes on resting."""
        sequence = self._open(handle)
        if sequence is None:
            return False
        if sequence.running and (self._in_flight or handle in self.held):
            self._pausing.add(handle)
        elif handle not in self._resting:
            self._rest(sequence)
        return True

    def release(self, handle: int) -> bool:
        """Let it go on; False also where it is not on hold."""
        if handle in self._pausing:
            self._pausing.discard(handle)
            return True
        sequence = self._resting.pop(handle, None)
        if sequence is None:
            return False
        self.swapping.diary.tell(What.RELEASED, handle)
        if sequence.started_at is None:
            self._enter(sequence)
        else:
            self._waiting.append(sequence, first=True)
        return True

    def _open(self, handle: int) -> Sequence | None:
        """A request that can still be changed; trunks are nobody's."""
        return None if handle in self._doomed or handle < 0 else self._by_handle.get(handle)

    def _reclass_waiter(self, trunk: Trunk, waiter: Sequence, priority: Priority) -> None:
        """As when it came, a STAT does without a trunk of a lower class where it is sooner alone."""
        waiter.priority = priority
        trunk.count(waiter, 1)
        if len(trunk.waiters) > 1 and self.trunks.sooner_alone(trunk, waiter):
            self.trunks.leave(waiter)
            self._waiting.append(waiter)
        reclass(trunk, self._waiting, self._slots)

    def _rest(self, sequence: Sequence) -> None:
        trunk = self.trunks.leave(sequence)
        if trunk is not None:
            self._left(trunk)
        elif sequence.running:
            self._give_way(sequence)
        else:
            self._waiting.take(sequence)
            if sequence.computed and sequence.started_at is None:
                self.trunks.give_up(sequence)
            elif sequence.computed:
                self._give_way(sequence)
        self.swapping.rest(sequence)
        sequence.go_on(self.clock())  # more urgent work is not what it waits for now
        self._resting[sequence.handle] = sequence
        self.swapping.diary.tell(What.ON_HOLD, sequence.handle)

    def _withdraw(self, sequence: Sequence) -> None:
        if sequence.running and (self._in_flight or sequence.handle in self.held):
            self._doomed.add(sequence.handle)
            if isinstance(sequence, Trunk):
                self.trunks.end(sequence)  # who comes now needs another
        else:
            self._settle(sequence, "cancelled")

    def _left(self, trunk: Trunk) -> None:
        """A waiter has left it."""
        if trunk.waiters:
            reclass(trunk, self._waiting, self._slots)
        else:
            self._withdraw(trunk)

    def _part_marked(self) -> None:
        """Whoever was marked and is in no step any more goes."""
        for handle in (self._doomed & self._by_handle.keys()) - self.held:
            self._settle(self._by_handle[handle], "cancelled")
        for handle in (self._pausing & self._by_handle.keys()) - self.held:
            self._rest(self._by_handle[handle])
        self._doomed &= self.held
        self._pausing &= self.held

    def _give_way(self, sequence: Sequence) -> None:
        raise NotImplementedError

    def _settle(self, sequence: Sequence, state: State, error: EngineError | None = None) -> None:
        raise NotImplementedError
