"""Lower work that is stopped, or sent away, at a chosen pass and layer, by STAT that comes then; for tests and for `preempted`."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import random
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine import selftest
from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.freezing import FreezingScheduler
from engine.request import (
    REFERENCE,
    Branch,
    Embed,
    Generate,
    NextToken,
    Outcome,
    Priority,
    Request,
    Sampling,
    Score,
    Sharing,
)
from engine.swap.content import Outside
from engine.swap.tier import FileTier

if TYPE_CHECKING:
    from engine.swap.arena import Arena

LABORATORY = Sharing("laboratory", "salt")
_LAST = 10**6  # freezes, and seconds: no limit is reached
FIRST_STAT = 1000  # handle
_MOMENT = 0.001  # seconds that files are left alone where nothing can be computed without them
_CLOSE = 10.0  # seconds for files to go
Run = Callable[[Batch], list[RowOutput] | None]


class Way(enum.Enum):
    """What happens to the sequences of a pass."""

    FROZEN = "frozen"  # it stands still while STAT runs, and goes on from its layer
    ABANDONED = "abandoned"  # STAT needs their blocks: it is dropped, one of them is sent away, the others begin the chunk again
    RECOMPUTED = "recomputed"  # all are sent away before the pass, and others take the blocks
    CACHED = "cached"  # all are sent away before the pass, and find what they left
    SWAPPED = "swapped"  # all are sent away before the pass, to the arena
    FILED = "filed"  # all are sent away before the pass, and come back from files

    @property
    def within(self) -> bool:
        """Whether it happens between two layers of the pass, and not before it."""
        return self in (Way.FROZEN, Way.ABANDONED)


_FOR_SLOTS = (Way.CACHED, Way.SWAPPED, Way.FILED)  # STAT needs slots, and no blocks


@dataclass(frozen=True, slots=True)
class Point:
    """`step` counts the passes of lower work from 1, `layer` those of its layers that have been computed; 0: none."""

    way: Way
    step: int
    layer: int = 0


@dataclass(slots=True)
class Told:
    """How all ended, by handle, which for lower work is the place in its list; and whom STAT met on the way."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    stood: set[int] = field(default_factory=set)  # in the pass that was stopped
    reached: bool = False  # the point, before all had ended
    filed: bool = False  # whoever gave way lay in files
    policy: FreezingScheduler | None = None

    def preempted(self) -> dict[int, Outcome]:
        """Those of lower work that stood still or were sent away."""
        lower = {handle: outcome for handle, outcome in self.outcomes.items() if 0 <= handle < FIRST_STAT}
        return {handle: outcome for handle, outcome in lower.items() if outcome.preempted or handle in self.stood}


def bits(outcome: Outcome) -> str:
    """Everything numerical of a result, exactly; empty: there is none."""
    if outcome.result is None:
        return ""
    tokens = getattr(outcome.result, "tokens", ())
    return struct.pack(f"<{len(tokens)}q", *tokens).hex() + selftest.numbers(outcome.result).hex()


class _At:
    """A signal that is raised once, after so many layers of one pass."""

    steered = False

    def __init__(self, point: Point) -> None:
        self._point, self._pass, self._begun, self.layers = point, 0, 0, 0

    def begin(self) -> None:
        """A pass of lower work begins."""
        self._pass, self._begun = self._pass + 1, self.layers

    @property
    def due(self) -> bool:
        """Whether the next pass is the one."""
        return self._pass + 1 == self._point.step

    @property
    def raised(self) -> bool:
        return self._point.layer > 0 and self._pass == self._point.step and self.layers - self._begun == self._point.layer


def settings(way: Way, lower: Sequence[Request], base: EngineConfig) -> EngineConfig:
    """`base` with limits that are not reached, and where slots are what STAT needs with none to spare."""
    slots = len(lower) + 2 + len({request.tokens for request in lower if isinstance(request, Score) and request.branch})
    common = dataclasses.replace(base, slots=slots, freezes=_LAST, frozen_seconds=float(_LAST))
    return dataclasses.replace(common, slots=max(1, len(lower) // 2)) if way in _FOR_SLOTS else common


@contextlib.contextmanager
def outside(way: Way, arena: Arena) -> Iterator[Outside]:
    """What a scheduler needs that sends sequences away in this way."""
    swaps, slots = way in (Way.SWAPPED, Way.FILED), arena.memory.shape[0]
    with tempfile.TemporaryDirectory() as folder:
        files = FileTier(Path(folder), arena.memory, "", cap=1 << 30, encrypted=True) if way is Way.FILED else None
        yield Outside(slots if swaps else 0, arena.block_bytes, files)
        if files is not None:
            files.close(_CLOSE)


def play(run: Run, policy: FreezingScheduler, lower: Sequence[tuple[Request, Priority]], point: Point) -> Told:
    """All of `lower` at once, with STAT at a point, to the end; every account is looked at after every step."""
    signal, told = _At(point), Told(policy=policy)
    policy.swapping.keep = 0
    policy.signal = signal  # type: ignore[assignment]
    for handle, (request, priority) in enumerate(lower):
        policy.add(handle, request, priority, 0.0)
    while policy.has_work:
        if not (told.reached or point.way.within) and signal.due:
            told.reached = _stat_comes(policy, point.way)
        if point.way is Way.FILED and told.reached and not told.filed:
            told.filed = _all_in_files(policy)
            policy.admits = Priority.ROUTINE if told.filed else Priority.STAT  # nobody comes back before
        batch = policy.schedule(0.0)
        if not (batch.beside or batch.resumes) and any(row.handle < FIRST_STAT for row in batch.rows):
            signal.begin()
        elif point.way is Way.FILED and not batch.rows:
            time.sleep(_MOMENT)
        outputs = run(batch)
        told.outcomes |= {outcome.handle: outcome for outcome in policy.postprocess(batch, outputs)}
        if outputs is None:
            told.stood |= {row.handle for row in batch.rows}
            told.reached = _stat_comes(policy, point.way)
        policy.check()
    return told


def _all_in_files(policy: FreezingScheduler) -> bool:
    swapping = policy.swapping
    return not policy.pool.draining and not swapping.slots.used and not policy.waiting_by_class[Priority.STAT]


def _stat_comes(policy: FreezingScheduler, way: Way) -> bool:
    for handle, request in enumerate(_stat(policy, way), start=FIRST_STAT):
        policy.add(handle, request, Priority.STAT, 0.0)
    return True


def _stat(policy: FreezingScheduler, way: Way) -> Iterator[Request]:
    """Requests that need just what makes lower work meet its end in this way."""
    if way is Way.FROZEN:
        yield from (Generate((3, 4, 5), 2), Score((4, 5, 6, 3) * 5))
    elif way in _FOR_SLOTS:
        yield from (Generate((3, 4 + number % 3), 1) for number in range(policy.config.slots))
    else:
        yield from _filling(policy, policy.ledger.spare + 1 if way is Way.ABANDONED else policy.pool.total)


def _filling(policy: FreezingScheduler, blocks: int) -> Iterator[Request]:
    """Scores that need so many blocks together."""
    size, largest = policy.config.block_size, policy.ledger.most(policy.limits.context - 1)
    while blocks > 0:
        taken = min(blocks, largest)
        yield Score(tuple(3 + (number * number + blocks) % 4 for number in range(taken * size + 1)))
        blocks -= taken


def every_kind(seed: int, ids: Sequence[int], length: int) -> list[Request]:
    """A window of so many tokens with alternates of it, a scan of it, and a request of every other kind."""
    generator = random.Random(seed)
    window = tuple(generator.choices(ids, k=length))
    half, third, letters = length // 2, length // 3, tuple(ids[:4])
    choices = (*((one,) for one in letters[:3]), letters[1:])

    def alternate(at: int, sharing: Sharing) -> Score:
        other = ids[(ids.index(window[at]) + 1) % len(ids)]
        return Score(window, sharing, Branch(at, (other, *window[at + 1 :])))

    return [
        Score(window[: length - 3]),
        Score(window[third:], alternatives=letters[:2], alternatives_from=half),
        Score(window, LABORATORY),
        *(alternate(at, LABORATORY) for at in (1, half, length - 2)),
        Score(window[half:] + window, REFERENCE, alternatives=choices, alternatives_from=half),
        NextToken(window[:-5]),
        NextToken(window[third:], wanted=(letters[2], letters[:2]), sharing=LABORATORY),
        Generate(window[:third], limit=6),
        Generate(window[:half], limit=5, sampling=Sampling(temperature=1.2, top_k=0, seed=seed, sample=1)),
        Embed(window),
        Embed(window[third:], pooling="last"),
    ]
