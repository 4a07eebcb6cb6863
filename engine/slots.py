"""Who runs, and how the token budget of a step is dealt out: to the classes in order, within a class to short sequences before long
ones. Long sequences beside others, and everybody beside STAT, get a share of what those compute, so that they never set the pace.
Where the share beside STAT is too small for all of a group, they take turns.

Beside STAT a token counts for more the deeper it stands in its context, for its attention takes time that STAT waits for. Where
STAT is pressed for time, those below pause, but for what they are owed: a part of what STAT computes that is theirs on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from engine.batch import Row
from engine.config import EngineConfig
from engine.ledger import Ledger
from engine.request import Priority
from engine.sequence import Sequence

_BELOW_STAT = 2  # the first group of the classes below


def pace(config: EngineConfig, to_go: int) -> int:
    """Tokens that a sequence with so many to go computes a step at most, as long as the context is not deep."""
    return (
        max(config.grid, min(config.chunk, config.long_chunk) // config.grid * config.grid) if to_go > config.long else config.chunk
    )


class Group(dict[int, Sequence]):
    """Running sequences by handle, in the order of their turns. As long as nobody comes or goes and each draws in every step,
    `drawing` are their rows, which `take` makes ready, and only who is `short` needs a block for the next.
    """

    __slots__ = ("drawing", "short")

    def __init__(self) -> None:
        self.drawing: list[Row] | None = None
        self.short: list[Sequence] = []

    def __setitem__(self, handle: int, sequence: Sequence) -> None:
        self.disturb()
        super().__setitem__(handle, sequence)

    def __delitem__(self, handle: int) -> None:
        self.disturb()
        super().__delitem__(handle)

    def disturb(self) -> None:
        """Look at each of them again."""
        self.drawing = None
        self.short.clear()

    def without(self, held: Set[int]) -> Group:
        """Those that are not held."""
        found = Group()
        found.update((handle, sequence) for handle, sequence in self.items() if handle not in held)
        return found


class Slots:
    """The running sequences in groups: each class first its short ones, then its long ones."""

    def __init__(self, config: EngineConfig, ledger: Ledger, window: int | None) -> None:
        self._config, self._ledger, self._window = config, ledger, window
        self._groups = [Group() for _ in range(2 * len(Priority))]
        self._paces = config.chunk, pace(config, config.long + 1)  # of short ones, of long ones
        self.used = 0
        self.pressed = False  # STAT would end too late at the present pace
        self._owed = 0.0  # tokens, to the classes below STAT, of steps in which they had less than their part

    def __iter__(self) -> Iterator[Sequence]:
        for group in self._groups:
            yield from tuple(group.values())  # other threads ask for figures while this one lets sequences in and out

    def but(self, held: Set[int]) -> Iterator[Sequence]:
        """Who runs and is not `held`."""
        return (sequence for sequence in self if sequence.handle not in held)

    def hold(self, sequence: Sequence) -> None:
        """Give a sequence a slot, or the place of its class when that has changed."""
        if sequence.running and sequence.place is not None:
            del sequence.place[sequence.handle]
        self.used += not sequence.running
        long = sequence.need - sequence.computed > self._config.long
        group = self._groups[2 * sequence.priority + long]
        group[sequence.handle] = sequence
        sequence.place, sequence.running = group, True

    def leave(self, sequence: Sequence) -> None:
        """Give back the slot of a sequence that has one."""
        if sequence.running and sequence.place is not None:
            del sequence.place[sequence.handle]
            sequence.place, sequence.running = None, False
            self.used -= 1

    def note_short(self, sequence: Sequence) -> None:
        """A running sequence has computed all positions of its blocks."""
        if isinstance(sequence.place, Group):
            sequence.place.short.append(sequence)

    @property
    def has_stat(self) -> bool:
        """Whether one of STAT holds a slot."""
        return bool(self._groups[0] or self._groups[1])

    @property
    def has_below(self) -> bool:
        """Whether one below STAT does."""
        return any(self._groups[_BELOW_STAT:])

    def of_stat(self) -> Iterator[Sequence]:
        """Those of STAT."""
        for group in self._groups[:_BELOW_STAT]:
            yield from group.values()

    @property
    def urgent(self) -> dict[int, Sequence]:
        """The short sequences of STAT, by handle."""
        return self._groups[0]

    def count(self, priority: Priority) -> int:
        """How many of a class run."""
        return len(self._groups[2 * priority]) + len(self._groups[2 * priority + 1])

    def deal(self, budget: int, held: Set[int] = frozenset()) -> list[Row]:
        """The next chunk of each running sequence, `budget` tokens at most together; takes the blocks they need. Beside rows that
        are `held` in a pass that stands still only STAT has a turn.
        """
        rows: list[Row] = []
        left, dealt = budget, 0
        groups = [group.without(held) for group in self._groups[:_BELOW_STAT]] if held else self._groups
        for index, group in enumerate(groups):
            if index == _BELOW_STAT and dealt:
                return self._deal_beside(rows, dealt, left)
            if not group:
                continue
            long = index % 2 == 1
            room = self._beside(dealt, self._config.long_share, left) if long and dealt else left
            given = self._deal_group(group, room, self._paces[long], rows)
            left, dealt = left - given, dealt + given
        if not held:
            self._owed = 0.0
        return rows

    def _deal_beside(self, rows: list[Row], dealt: int, left: int) -> list[Row]:
        """Let those below STAT run beside it, which has so many tokens in the step: a share, and where it is pressed for time what
        they are owed. Next time it is the turn of those who got nothing.
        """
        config = self._config
        self._owed += dealt * config.lower_share
        owed = int(self._owed) // config.grid * config.grid
        left = min(left, owed if self.pressed else max(owed, self._beside(dealt, config.stat_share, left)))
        given, asked = 0, False
        for index, group in enumerate(self._groups[_BELOW_STAT:]):
            if not group:
                continue
            asked, long = True, index % 2 == 1
            room = self._beside(dealt + given, config.long_share, left - given) if long and not self.pressed else left - given
            before = len(rows)
            given += self._deal_weighed(group, room, self._paces[long], rows)
            if len(rows) - before < len(group):
                for row in rows[before:]:
                    group[row.handle] = group.pop(row.handle)
        self._owed = max(0.0, self._owed - given) if asked else 0.0
        return rows

    def _deal_weighed(self, group: Group, room: int, largest: int, rows: list[Row]) -> int:
        """As `_deal_group`, where tokens are weighed by their depth; one too deep for what is left lets others go before."""
        left = room
        group.disturb()
        for sequence in group.values():
            if left <= 0:
                break
            weight = 1 + self._depth(sequence.computed) // self._config.deep
            end = self._chunk_end(sequence, left // weight, largest) if left >= weight else 0
            count = end - sequence.computed
            if count <= 0:
                continue
            if end > sequence.room:
                self._ledger.grow(sequence, end)
            left -= count * weight
            rows.append(sequence.row(end))
        return room - left

    def _deal_group(self, group: Group, room: int, largest: int, rows: list[Row]) -> int:
        """Append the rows of a group, `room` tokens at most; the tokens given."""
        if group.drawing is None or len(group.drawing) > room:
            return self._deal_each(group, room, largest, rows)
        for sequence in group.short:
            if sequence.target > sequence.room:
                self._ledger.grow(sequence, sequence.target)
        group.short.clear()
        rows += group.drawing
        return len(group.drawing)

    def _deal_each(self, group: Group, room: int, largest: int, rows: list[Row]) -> int:
        """As `_deal_group`, where they are looked at one by one."""
        left, first = room, len(rows)
        group.disturb()
        for sequence in group.values():
            computed, end = sequence.computed, sequence.target
            if end - computed != 1:
                end = self._chunk_end(sequence, left, largest)
            count = end - computed
            if count > left:
                break
            if count > 0:
                if end > sequence.room:
                    self._ledger.grow(sequence, end)
                left -= count
                rows.append(sequence.row(end))
        if len(rows) - first == room - left == len(group) and all(sequence.draws for sequence in group.values()):
            group.drawing = rows[first:]
        return room - left

    def _beside(self, dealt: int, share: float, left: int) -> int:
        """Tokens for those who must not set the pace of what has been dealt out; a cell of the grid at least, so that they go
        on.
        """
        return min(left, max(self._config.grid, int(dealt * share)))

    def _chunk_end(self, sequence: Sequence, room: int, largest: int) -> int:
        """End of the next chunk, on the grid of absolute positions unless it is the target. Chunks of long sequences are smaller,
        so that whoever comes does not wait long for the step to end, and smaller still deep in a long context.
        """
        computed, grid, chunk = sequence.computed, self._config.grid, self._chunk(largest, sequence.computed)
        end = min(sequence.target, (computed // chunk + 1) * chunk)
        if end - computed > room:
            end = (computed + room) // grid * grid
        return end

    def _chunk(self, largest: int, position: int) -> int:
        grid = self._config.grid
        return max(grid, (largest >> (self._depth(position) // self._config.deep).bit_length()) // grid * grid)

    def expected(self, sequence: Sequence, position: int) -> tuple[int, bool]:
        """The largest chunk it may compute at a position, and whether it is long."""
        long = sequence.need - sequence.computed > self._config.long
        if sequence.running:
            long = any(sequence.handle in group for group in self._groups[1::2])
        return self._chunk(self._paces[long], position), long

    def _depth(self, position: int) -> int:
        """Positions that are read to compute one."""
        return position if self._window is None else min(position, self._window)
