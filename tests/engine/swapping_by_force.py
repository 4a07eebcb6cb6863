"""A scheduler that sends everybody away in every second step, and a shelf in the place of files whose doings a test decides."""

from __future__ import annotations

import random
from collections.abc import Sequence

from engine.batch import Batch
from engine.freezing import FreezingScheduler
from engine.swap.content import Done, Failure
from tests.engine.remembering import Remembering


class Shoved(FreezingScheduler):
    """Who is not in a pass that stands still gives way, whatever it is doing, and comes back as soon as it can."""

    _calls = 0

    def schedule(self, now: float) -> Batch:
        self._calls += 1
        if self._calls % 2 == 0:
            for sequence in [one for one in self._slots.but(self.held) if one.handle not in self._doomed]:
                self._evict(sequence)
        return super().schedule(now)


class Shelf:
    """Files in memory, each written or read when the dice say so, or not at all. With `model`, of what its arena holds."""

    def __init__(self, generator: random.Random, *, faults: float = 0.0, cap: int = 10**9) -> None:
        self.generator, self.faults, self.cap = generator, faults, cap
        self.model: Remembering | None = None
        self.files: dict[int, list[object]] = {}
        self._jobs: list[tuple[str, int, list[int]]] = []
        self.read_files = 0

    @property
    def count(self) -> int:
        return len(self.files)

    @property
    def size(self) -> int:
        return self.count

    def write(self, number: int, slots: Sequence[int]) -> bool:
        if len(self.files) + len(self._jobs) >= self.cap:
            return False
        self._jobs.append(("write", number, list(slots)))
        return True

    def read(self, number: int, slots: Sequence[int]) -> None:
        assert number in self.files
        self._jobs.append(("read", number, list(slots)))

    def drop(self, number: int) -> None:
        assert not any(job[1] == number for job in self._jobs)
        self.files.pop(number, None)

    def finished(self) -> list[Done]:
        done = [job for job in self._jobs if self.generator.random() < 0.5]
        self._jobs = [job for job in self._jobs if job not in done]
        return [self._end(*job) for job in done]

    def _end(self, what: str, number: int, slots: list[int]) -> Done:
        arena = self.model.arena if self.model is not None else {}
        if what == "write":
            if self.generator.random() < self.faults:
                return Done(number, Failure.FULL)
            self.files[number] = [arena.get(slot) for slot in slots]
        elif self.generator.random() < self.faults:
            return Done(number, Failure.CORRUPT)
        elif self.model is not None:
            arena.update(zip(slots, self.files[number], strict=True))  # type: ignore[call-overload]
            self.read_files += 1
        return Done(number)
