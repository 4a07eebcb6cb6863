"""Giving way and coming back. What a sequence has computed goes to the arena where copying costs less than computing it again, from
a full arena on to files, and comes back exactly as it was. Where that fails it is computed again, with the same bits.

Blocks that others hold stay where they are: the sequence keeps their keys and finds them again. Nothing here touches memory or a
disk: the moves go out with the next batch, and the files have a thread of their own.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from engine.batch import Batch, Row, Signal
from engine.config import EngineConfig
from engine.errors import BlockAccounting
from engine.happening import Diary, What
from engine.ledger import Ledger
from engine.prefix import PrefixCache
from engine.sequence import Sequence
from engine.swap.content import Content, Done, Failure, Outside, Where
from engine.swap.cost import Costs
from engine.swap.slots import ArenaSlots
from engine.trunks import Trunk
from engine.waiting import Waiting

log = logging.getLogger(__name__)

_NOTHING = 0, 0
Pairs = list[tuple[int, int]]


@dataclass(slots=True)
class _Leaving:
    """Content on its way to the arena, and the blocks that drain meanwhile."""

    content: Content
    pairs: Pairs  # (block, slot)
    draining: list[int]


@dataclass(slots=True)
class _Arriving:
    """Content on its way back to a sequence; None: that has gone again, and only what others took of its blocks is still wanted."""

    sequence: Sequence | None
    content: Content
    pairs: Pairs  # (slot, block)


def _pairs(moves: SequenceOf[_Leaving | _Arriving]) -> tuple[tuple[int, int], ...]:
    return tuple(pair for one in moves for pair in one.pairs) if moves else ()


class Swapping:
    """Of one scheduler. `keep` is how many slots of the arena may hold what is in no file."""

    def __init__(self, config: EngineConfig, cache: PrefixCache, ledger: Ledger, outside: Outside) -> None:
        self._cache, self._ledger, self._pool = cache, ledger, ledger.pool
        self.files, self._patience = outside.files, config.swap_seconds
        self.costs = outside.costs or Costs(outside.block_bytes, config.swap_bandwidth, config.recompute_rate)
        self.slots = ArenaSlots(outside.slots)
        self.keep = outside.slots // 2
        self._numbers = itertools.count(1)
        self._contents: dict[int, Content] = {}  # the oldest first
        self._owners: dict[int, Sequence] = {}  # of those that somebody wants, by number
        self._leaving: list[_Leaving] = []
        self._arriving: list[_Arriving] = []
        self._told = _NOTHING  # how many of both go with the batch that is on its way
        self._loading: dict[int, float] = {}  # by number: since when somebody who could start has waited for a file
        self.diary = Diary()
        self.blocks_out = self.blocks_in = self.recomputed = self.files_read = 0
        self.failures: Counter[Failure] = Counter()

    @property
    def loading(self) -> bool:
        """Whether somebody waits for a file."""
        return bool(self._loading)

    def reads(self, sequence: Sequence) -> bool:
        """Whether a sequence waits for its file."""
        return sequence.swapped is not None and sequence.swapped.number in self._loading

    def cost(self, sequence: Sequence) -> float:
        """Seconds that it takes, by estimate, to send a sequence away and have it where it was."""
        again, blocks = self.costs.recompute(self._again(sequence)), len(sequence.blocks)
        return min(again, self.costs.swap(blocks)) if blocks <= self.slots.free else again

    def _again(self, sequence: Sequence) -> int:
        """Positions that it would compute again."""
        return max(0, sequence.computed - self._ledger.resumes_at(sequence))

    def out(self, sequence: Sequence) -> None:
        """It gives way, and keeps what is known."""
        if sequence.swapped is not None:  # it was to come back with this very step, and is still outside
            self._close(sequence)
            self._stay_out(sequence)
            sequence.set_aside()
            self.diary.tell(What.IN_MEMORY, sequence.handle)
        elif not self._swap_out(sequence):
            self.recomputed += self.slots.total > 0 and sequence.computed > 0
            self.diary.tell(What.GIVEN_UP, sequence.handle, self._again(sequence))
            if not isinstance(sequence, Trunk):
                self._cache.leave_own(sequence)
                self._ledger.settle_kind(sequence)
            self._close(sequence)
            sequence.restart()
        sequence.preempted += 1

    def _close(self, sequence: Sequence) -> None:
        self._ledger.close(sequence)
        self._ledger.leave(sequence)

    def _swap_out(self, sequence: Sequence) -> bool:
        """Order its blocks to the arena, as far as they have been computed; False where that does not pay or there is no room."""
        if sequence.computed == 0 or sequence.copy_from is not None:  # its first own block is yet to be made
            return False
        if self._ledger.promised + sequence.reserved - sequence.promise > self._pool.available:
            return False  # it runs on a reserve, which somebody may need while the blocks drain
        table = sequence.blocks[: self._ledger.blocks_for(sequence.computed) - sequence.first]
        if not {block for one in self._arriving for _, block in one.pairs}.isdisjoint(table) or self._ledger.is_blank(table):
            return False  # what is in them, its own or that of one which came back just now, only the next step brings
        shared = {block: self._cache.key_of(block) for block in table if self._pool.references(block) > 1}
        places = tuple(shared.get(block) for block in table)
        content = Content(next(self._numbers), sequence.computed, sequence.first, sequence.registered, sequence.key,
                          sequence.slides, places, places.count(None))  # fmt: skip
        if self.costs.swap(content.size) > self.costs.recompute(self._again(sequence)) or not self.slots.take(content):
            return False
        own = [block for block, place in zip(table, places, strict=True) if place is None]
        draining = [block for block in own if self._pool.references(block) == 1]
        self._contents[content.number], self._owners[content.number] = content, sequence
        self.diary.tell(What.DRAINS, sequence.handle, len(own))
        if own:
            self._leaving.append(_Leaving(content, list(zip(own, content.slots, strict=True)), draining))
        else:
            self._lies_in_memory(content)
        self._pool.drain(draining)
        gone = frozenset(draining)
        sequence.blocks[:] = [block for block in sequence.blocks if block not in gone]
        self._close(sequence)
        sequence.swapped = content
        sequence.set_aside()
        return True

    def _lies_in_memory(self, content: Content) -> None:
        content.where = Where.ARENA
        if (owner := self._owners.get(content.number)) is not None:
            self.diary.tell(What.IN_MEMORY, owner.handle)

    def take_up(self, sequence: Sequence) -> int:
        """Let one that starts begin where it was, with what others computed, or where what it still wants begins to depend on; the
        tokens taken from the cache.
        """
        if sequence.swapped is not None:
            if self._swap_in(sequence, sequence.swapped):
                return 0
            self._lose(sequence)
        found = self._cache.take_up(sequence, self._ledger)
        start = self._ledger.resumes_at(sequence) if sequence.preempted else 0
        if start <= sequence.computed:
            return found
        self._ledger.close(sequence)
        self._ledger.rebuild(sequence, start)
        return 0

    def _swap_in(self, sequence: Sequence, content: Content) -> bool:
        found = self._cache.kept(content.keys)
        if found is None:  # what others held is gone
            return False
        self._pool.share(found)
        own = self._pool.allocate(content.size)
        shared, others = iter(found), iter(own)
        table = [next(others if place is None else shared) for place in content.places]
        self._ledger.restore(sequence, table, content.first)
        sequence.computed, sequence.registered = content.computed, content.registered
        sequence.key, sequence.slides = content.key, content.slides
        self.diary.tell(What.RETURNS, sequence.handle, len(own))
        if own:
            content.moving = True
            self._arriving.append(_Arriving(sequence, content, list(zip(content.slots, own, strict=True))))
        else:
            sequence.swapped = None
            self._release(content)
            self.diary.tell(What.IN_POOL, sequence.handle)
        return True

    def _stay_out(self, sequence: Sequence) -> None:
        """It was to come back with the next step, and has given its blocks back; others may have shared them meanwhile."""
        for one in self._arriving:
            if one.sequence is sequence:
                one.sequence = None
                one.pairs = [pair for pair in one.pairs if self._pool.references(pair[1])]
                one.content.moving = bool(one.pairs)
        self._arriving = [one for one in self._arriving if one.pairs]

    def end(self, sequence: Sequence) -> None:
        """It has ended: nothing of it is kept anywhere."""
        self._close(sequence)
        self._discard(sequence)

    def _discard(self, sequence: Sequence) -> None:
        content, sequence.swapped = sequence.swapped, None
        if content is not None:
            self._stay_out(sequence)
            self._release(content)

    def _lose(self, sequence: Sequence) -> None:
        """What it left cannot be had: it computes its positions again."""
        self._discard(sequence)
        self.diary.tell(What.LOST, sequence.handle)
        self.recomputed += 1
        sequence.restart()
        if not isinstance(sequence, Trunk):
            self._ledger.settle_kind(sequence)

    def _release(self, content: Content) -> None:
        """Give back slots and file, now or as soon as nobody reads or writes them."""
        content.gone = True
        self._loading.pop(content.number, None)
        self._owners.pop(content.number, None)
        if content.moving or content.busy or content.where is Where.LEAVING:
            return
        del self._contents[content.number]
        self.slots.give_back(content)
        if self.files is not None:
            self.files.drop(content.number)

    # With the batch.

    def batch(self, rows: list[Row], signal: Signal, *, stoppable: bool) -> Batch:
        """The rows of a step with all that comes before them."""
        outs, ins = _pairs(self._leaving), _pairs(self._arriving)
        self._told = len(self._leaving), len(self._arriving)
        released, copies, dropped = self._pool.drain_released(), self._ledger.drain_copies(), self.slots.drain_dropped()
        return Batch(rows, released, copies, dropped, outs, ins, signal, stoppable, blank=self._ledger.drain_blank())

    def moved(self) -> None:
        """The moves of the last batch have been made. What has been ordered since goes with the next."""
        if self._told == _NOTHING:
            return
        (out, come), self._told = self._told, _NOTHING
        leaving, self._leaving = self._leaving[:out], self._leaving[out:]
        for one in leaving:
            self._pool.drained(one.draining)
            self.blocks_out += len(one.pairs)
            self._lies_in_memory(one.content)
            if one.content.gone:
                self._release(one.content)
        arriving, self._arriving = self._arriving[:come], self._arriving[come:]
        for back in arriving:
            self.blocks_in += len(back.pairs)
            back.content.moving = False
            if back.sequence is not None:
                back.sequence.swapped = None
                self.diary.tell(What.IN_POOL, back.sequence.handle)
            if back.sequence is not None or back.content.gone:
                self._release(back.content)

    # Files.

    def loads(self, sequence: Sequence, now: float, waiting: Waiting) -> bool:
        """Whether one that could start has to be read from its file first: from here on it waits for that, and for nothing else."""
        content = sequence.swapped
        if content is None or content.where not in (Where.FILE, Where.LOADING):
            return False
        waiting.take(sequence)
        content.where = Where.LOADING
        self._loading.setdefault(content.number, now)
        self._begin_to_read(content)
        return True

    def _begin_to_read(self, content: Content) -> None:
        if self.files is not None and not content.busy and self.slots.take(content):
            content.busy = True
            self.diary.tell(What.FROM_DISK, self._owners[content.number].handle, content.size)
            self.files.read(content.number, content.slots)

    def rest(self, sequence: Sequence) -> None:
        """It does not want to start any more: it is not called when its file has been read."""
        content = sequence.swapped
        if content is not None and self._loading.pop(content.number, None) is not None and not content.busy:
            content.where = Where.FILE

    def look_at_files(self, now: float, waiting: Waiting) -> None:
        """Whoever may start again waits for that: its file has been read, or is of no use."""
        if self.files is None:
            return
        ready = [sequence for done in self.files.finished() for sequence in self._ended(done)]
        for number, since in list(self._loading.items()):
            if now - since > self._patience:
                sequence = self._owners[number]
                self._failed(Failure.SLOW, number)
                self._lose(sequence)
                ready.append(sequence)
            else:
                self._begin_to_read(self._contents[number])
        for sequence in ready:
            waiting.append(sequence, first=True)
        self._write_behind()

    def _ended(self, done: Done) -> Iterator[Sequence]:
        """The files' thread has no more to do with some content; who has waited for it."""
        content, owner = self._contents[done.number], self._owners.get(done.number)
        content.busy = False
        wanted = self._loading.pop(done.number, None) is not None
        if owner is None:
            self._release(content)
            return
        if done.failure is not None:
            self._failed(done.failure, done.number)
        if content.where is not Where.LOADING:
            self._written(content, owner, done.failure)
        elif done.failure is None:
            content.where = Where.ARENA
            self.diary.tell(What.READ, owner.handle)
            self.files_read += 1
            self._drop_file(content)
        else:
            self._lose(owner)
        if wanted:
            yield owner

    def _written(self, content: Content, owner: Sequence, failure: Failure | None) -> None:
        self.diary.tell(What.IN_MEMORY if failure else What.ON_DISK, owner.handle)
        if failure is None:
            content.where = Where.FILE
            self.slots.give_back(content)
        else:
            content.filed = False
            self.slots.stay(content)
            self._drop_file(content)

    def _drop_file(self, content: Content) -> None:
        if self.files is not None:
            self.files.drop(content.number)

    def _write_behind(self) -> None:
        """Write the oldest content to files, so that the arena has room for what comes and for what is to be read."""
        wanted = sum(self._contents[number].size for number in self._loading if not self._contents[number].busy)
        written = sum(content.size for content in self._contents.values() if content.busy and content.where is Where.ARENA)
        over = max(self.slots.used - self.keep, wanted - self.slots.free) - written
        if self.files is None or over <= 0:
            return
        for content in self._contents.values():
            if over <= 0:
                break
            if content.where is Where.ARENA and content.filed and not (content.busy or content.moving or content.gone):
                content.filed = self.files.write(content.number, content.slots)
                if content.filed:
                    content.busy = True
                    self.diary.tell(What.TO_DISK, self._owners[content.number].handle, content.size)
                    self.slots.drain(content)
                    over -= content.size
                else:
                    self._failed(Failure.CAP, content.number)

    def _failed(self, failure: Failure, number: int) -> None:
        self.failures[failure] += 1
        log.warning("swap file %d: %s", number, failure.value, extra={"event": "swap_failed"})

    # For whoever looks.

    def stats(self) -> dict[str, float]:
        """The figures by name."""
        files = self.files
        return {
            "swapped_out_blocks": self.blocks_out,
            "swapped_in_blocks": self.blocks_in,
            "swap_bytes": (self.blocks_out + self.blocks_in) * self.costs.block_bytes,
            "swap_recomputed": self.recomputed,
            "swap_bandwidth": self.costs.bandwidth,
            "recompute_rate": self.costs.rate,
            "swap_copies_measured": self.costs.measured[0],
            "swap_steps_measured": self.costs.measured[1],
            "arena_used": self.slots.used,
            "arena_total": self.slots.total,
            "swap_files_read": self.files_read,
            "swap_files": 0 if files is None else files.count,
            "swap_file_bytes": 0 if files is None else files.size,
            "swap_failures": sum(self.failures.values()),
            **{f"swap_failures_{failure.value}": self.failures[failure] for failure in Failure},
        }

    def check(self, sequences: Iterable[Sequence]) -> None:
        """Raise BlockAccounting unless every slot has one owner, every content one sequence, and all that drains is on its way."""
        contents = self._contents.values()
        self.slots.check(contents)
        owned = [(sequence.swapped.number, sequence) for sequence in sequences if sequence.swapped is not None]
        wanted = [content.number for content in contents if not content.gone]
        if dict(owned) != self._owners or sorted(wanted) != sorted(number for number, _ in owned):
            raise BlockAccounting("what was swapped out and what sequences have outside disagree")
        if self._pool.draining != sum(len(one.draining) for one in self._leaving):
            raise BlockAccounting(f"{self._pool.draining} blocks drain and nobody copies some of them")
        if any(self._contents[number].where is not Where.LOADING for number in self._loading):
            raise BlockAccounting("somebody waits for a file that nobody reads")
