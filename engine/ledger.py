"""Who holds blocks and who may still take how many. A sequence is let in only when all it can ever need is promised to it, and
takes blocks one by one as it is computed, so that memory holds what exists and nobody who runs ever waits for memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.request import Priority
from engine.sequence import Reserve, Sequence

_SHARE = 4  # a reserve, or a margin, is at most this part of the pool, or there is none


class Ledger:
    """Promises over one pool. `window` is the model's sliding window in tokens, or None; how far a state reaches back is known with
    `layers`.
    """

    def __init__(self, pool: BlockPool, config: EngineConfig, window: int | None, layers: int | None = None) -> None:
        self.pool, self._size, self.window = pool, config.block_size, window
        self._field = None if window is None or layers is None else layers * (window - 1)
        self._sliding = 0 if window is None or config.mode == "static" else self.blocks_for(window + config.chunk) + 2
        self.promised = 0
        self.reserve = 0  # blocks kept for STAT …
        self._margin_most = pool.total // _SHARE
        self.margin = config.resume_margin if config.resume_margin <= self._margin_most else 0
        self.busy = False  # … while anybody runs
        self.gathers: Sequence | None = None  # has been passed over too often: it gathers what it needs, …
        self.gathers_as = Priority.ROUTINE  # … before everybody of this class and below
        self._copies: list[tuple[int, int]] = []
        self._blank: list[int] = []
        self._short: list[Sequence] = []  # could not be promised again all they need, because others hold what they left behind

    @property
    def spare(self) -> int:
        """Blocks that nobody holds and that are promised to nobody."""
        return self.pool.available - self.promised

    def keep(self, positions: int, most: int) -> None:
        """Keep a reserve for a STAT request of so many positions, of at most so many blocks. A pool in which that would be more
        than a quarter keeps none: part of it would hold no such request, and keep others out.
        """
        wanted = min(most, self.most(positions))
        self.reserve = wanted if wanted <= self.pool.total // _SHARE else 0

    def spare_for(self, sequence: Sequence) -> int:
        """Blocks that may be promised to it. Below STAT, while anybody runs, the reserve is out of reach, and for one that was sent
        away a margin more, each time a greater one; what another gathers is out of reach for its class and those below, but for who
        holds blocks and gives them back by running.
        """
        if sequence.priority is Priority.STAT:
            return self.spare
        kept, other = 0, self.gathers
        if self.busy:
            kept = self.reserve + (min(sequence.evicted * self.margin, self._margin_most) if sequence.evicted else 0)
        if other is not None and other is not sequence and sequence.priority >= self.gathers_as and not sequence.computed:
            kept += self.needs(other)
        return max(0, self.spare - kept)

    def needs(self, sequence: Sequence) -> int:
        """Blocks still to be promised before it may start, with what a trunk puts aside."""
        beside = max(0, sequence.beside - (sequence.reserve.size if sequence.reserve is not None else 0))
        return self.wanted(sequence) - sequence.promise + beside

    def blocks_for(self, positions: int) -> int:
        """Blocks that hold so many positions."""
        return -(-positions // self._size)

    def most(self, positions: int) -> int:
        """Blocks that a sequence of so many positions holds at most at once, when nothing else needs what it leaves behind."""
        whole = self.blocks_for(positions)
        return min(whole, self._sliding) if self._sliding else whole

    def settle_kind(self, sequence: Sequence) -> None:
        """Let it slide where it can run in fewer blocks than it has positions for."""
        sequence.slides = self.slides(sequence.need)

    def slides(self, positions: int) -> bool:
        """Whether so many positions can be computed in fewer blocks than they fill."""
        return self.most(positions) < self.blocks_for(positions)

    def seen_from(self, position: int) -> int:
        """Number of the first block that is read to compute a position: in the window, or the last for the state at its end."""
        return 0 if self.window is None else max(0, position - max(self.window, 2) + 1) // self._size

    def wanted(self, sequence: Sequence) -> int:
        """Blocks it needs beyond those it holds. One that slides gets back those that it leaves behind, but for those it shares."""
        to_come = self.blocks_for(sequence.need) - sequence.first - len(sequence.blocks)
        if not sequence.slides:
            return to_come
        return min(to_come, self._sliding - sum(self.pool.references(block) == 1 for block in sequence.blocks))

    def lacking(self, sequence: Sequence) -> int:
        """Blocks that there are too few to promise it all it needs, with what a trunk puts aside; none or less: it may start."""
        return self.needs(sequence) - self.spare_for(sequence)

    def reserved(self, sequence: Sequence) -> bool:
        """Whether it may run on the reserve of its trunk."""
        reserve = sequence.reserve
        if reserve is None or not reserve.idle or reserve.trunk is sequence or sequence.computed == 0:
            return False
        return self.wanted(sequence) <= reserve.size

    def open(self, sequence: Sequence) -> None:
        """Promise what it needs; there was enough. A branch uses the reserve only where it must."""
        more, reserve = self.wanted(sequence) - sequence.promise, sequence.reserve
        sequence.promise += more
        if reserve is None or more <= self.spare_for(sequence):
            self.promised += more
        else:
            reserve.idle, sequence.reserved = False, more
        if sequence.copy_from is not None:
            self.grow(sequence, sequence.computed + 1)
            self._copies.append((sequence.copy_from, sequence.blocks[-1]))

    def put_aside(self, reserve: Reserve, size: int) -> bool:
        """Make a reserve at least so large; False where that cannot be promised."""
        more = max(0, size - reserve.size)
        if more > self.spare_for(reserve.trunk):
            return False
        reserve.size += more
        self.promised += more
        return True

    def leave(self, sequence: Sequence) -> None:
        """A member leaves its reserve; the last one ends it."""
        reserve, sequence.reserve = sequence.reserve, None
        if reserve is not None:
            reserve.members -= 1
            if reserve.members == 0:
                self.promised -= reserve.size

    def grow(self, sequence: Sequence, end: int) -> None:
        """Take the blocks for the positions up to `end` out of what was promised."""
        count = self.blocks_for(end) - sequence.first - len(sequence.blocks)
        sequence.blocks.extend(self.pool.allocate(count))
        sequence.room += count * self._size
        sequence.promise -= count
        self.promised -= count

    def slide(self, sequence: Sequence) -> bool:
        """Give back the blocks that no later position can see; whether what is still to come could be promised again."""
        left_behind = self.seen_from(sequence.computed) - sequence.first
        if left_behind <= 0:
            return True
        before = self.pool.available - sequence.promise
        self.pool.release(sequence.blocks[:left_behind])
        del sequence.blocks[:left_behind]
        sequence.first += left_behind
        complete = self.refill(sequence)
        back = min(sequence.reserved, self.pool.available - sequence.promise - before)  # it needs less of the reserve from now on
        if back > 0 and sequence.reserve is not None:
            sequence.reserved -= back
            sequence.reserve.idle = sequence.reserved == 0
            self.promised += back
        if not complete:
            self._short.append(sequence)
        return complete

    def serve_short(self) -> None:
        """What has come free goes first to those who stand aside and were promised it once, so that all of them can go on."""
        if self._short:
            self._short = [one for one in self._short if one.blocks and not one.running]
            for sequence in self._short:
                self.refill(sequence)

    def refill(self, sequence: Sequence) -> bool:
        """Promise again what it needs to go on, as far as there is any; others may still hold what it has left behind."""
        more = self.wanted(sequence) - sequence.promise
        found = min(more, self.spare)
        sequence.promise += found
        self.promised += found
        return found == more

    def adopt(self, sequence: Sequence, blocks: list[int], first: int) -> None:
        """Let a sequence that holds nothing begin with blocks that others computed, from its block number `first` on."""
        self.pool.share(blocks)
        self.restore(sequence, blocks, first)
        sequence.slides = sequence.slides or first > 0

    def restore(self, sequence: Sequence, blocks: list[int], first: int) -> None:
        """Let a sequence that holds nothing begin with blocks that it holds a reference to, from its block number `first` on."""
        sequence.blocks.extend(blocks)
        sequence.first, sequence.room = first, (first + len(blocks)) * self._size

    def resumes_at(self, sequence: Sequence) -> int:
        """Where one that has given way can begin again: what it still wants depends on nothing before. 0 where nothing slides."""
        if self._field is None or not sequence.slides:
            return 0
        return max(0, sequence.wanted_from - self._field) // self._size * self._size

    def rebuild(self, sequence: Sequence, start: int) -> None:
        """Let one that holds nothing begin there. It computes anew what is wanted and, so that it is exact, the field before; the
        window before that is blank, and nobody else may take up what was computed from it.
        """
        first = self.seen_from(start)
        blank = self.pool.allocate(start // self._size - first)
        self.restore(sequence, blank, first)
        self._blank.extend(blank)
        sequence.computed, sequence.exact, sequence.shareable, sequence.reused = start, sequence.wanted_from, 0, 0

    def is_blank(self, blocks: Iterable[int]) -> bool:
        """Whether the next step has yet to blank one of these."""
        return not frozenset(self._blank).isdisjoint(blocks)

    def drain_blank(self) -> tuple[int, ...]:
        """Blocks to be blanked before anything else is computed, told once."""
        blank, self._blank = tuple(self._blank), []
        return blank

    def copied(self, sequence: Sequence) -> None:
        """The block it was copied from is no longer needed."""
        if sequence.copy_from is not None:
            self.pool.release([sequence.copy_from])
            sequence.copy_from = None

    def drain_copies(self) -> tuple[tuple[int, int], ...]:
        """Blocks (from, to) that must be copied before anything else is computed, told once."""
        copies, self._copies = tuple(self._copies), []
        return copies

    def close(self, sequence: Sequence) -> None:
        """Take everything back, promises included; it stays a member of its reserve."""
        if sequence.copy_from is not None:
            self._copies = [copy for copy in self._copies if copy[1] not in sequence.blocks]
        self.copied(sequence)
        self.pool.release(sequence.blocks)
        sequence.blocks.clear()
        self.promised -= sequence.promise
        if sequence.reserved and sequence.reserve is not None:
            self.promised += sequence.reserved
            sequence.reserve.idle = True
        sequence.promise = sequence.reserved = 0

    def owed(self, sequences: Iterable[Sequence]) -> int:
        """Blocks promised to these and their reserves, counted one by one."""
        held = list(sequences)
        reserves = {id(one.reserve): one.reserve.size for one in held if one.reserve is not None}
        return sum(one.promise - one.reserved for one in held) + sum(reserves.values())

    def check(self) -> bool:
        """Whether every promise can be kept."""
        return 0 <= self.promised <= self.pool.available
