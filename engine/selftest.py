"""The proof at start: one request has the same bits alone, in company, from a trunk, frozen, after giving way, swapped, from the
cache.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
import struct
from typing import Protocol

from engine.batch import Batch, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.freezing import FreezingScheduler
from engine.limits import Limits
from engine.request import (
    REFERENCE,
    Branch,
    Embed,
    EmbedResult,
    Generate,
    NextToken,
    Priority,
    Request,
    Result,
    Sampling,
    Score,
    ScoreResult,
)
from engine.swap.content import Outside

Bits = dict[int, bytes]
_LENGTHS = (2, 9, 33, 64, 65, 66, 130, 193)  # of the scores at the beginning of the mix
_PLAIN = len(_LENGTHS)  # what comes behind them shares a window, but for the last
_FEW = 4  # slots, so that somebody has to give way
_FARTHEST = 1024  # tokens of a request that reaches beyond the sliding window: a longer one would make every start slow


class Runs(Protocol):
    """What the self-test needs of a runner."""

    def run(self, batch: Batch) -> list[RowOutput] | None:
        """Compute every row, or stop between two layers."""
        ...


def requests(limits: Limits, capacity: int) -> list[Request]:
    """A fixed mix of lengths around tile, block and row-count boundaries, cut to context and pool."""
    generator = random.Random(2)  # noqa: S311 — a fixed mix, not a secret
    longest = min(limits.context, capacity // 8)

    def tokens(length: int) -> tuple[int, ...]:
        return tuple(generator.randrange(limits.vocabulary) for _ in range(max(2, min(length, longest))))

    mix: list[Request] = [Score(tokens(length)) for length in _LENGTHS]
    if longest < 24:
        return mix
    window = tokens(100)
    alternates = [
        Branch(at, ((window[at] + 1) % limits.vocabulary, *window[at + 1 :])) for at in (1, len(window) // 2, len(window) - 1)
    ]
    mix.extend(Score(window, REFERENCE, branch) for branch in alternates)
    mix.extend((Score(window, REFERENCE), NextToken(window, sharing=REFERENCE), Embed(tokens(70))))
    return [*mix, Generate(tokens(11), limit=5, sampling=Sampling(temperature=1.0, seed=7))]


def beyond(limits: Limits, capacity: int) -> list[Request]:
    """Requests of which a sliding window leaves a part behind; none where they would be too long for context, pool or a start."""
    length = 0 if limits.window is None else limits.window + 131
    if limits.window is None or length > min(limits.context, capacity // 4, _FARTHEST):
        return []
    generator = random.Random(3)  # noqa: S311 — a fixed mix, not a secret
    tokens = tuple(generator.randrange(limits.vocabulary) for _ in range(length))
    branch = Branch(limits.window + 20, tuple((token + 1) % limits.vocabulary for token in tokens[: length // 4]))
    return [Score(tokens), NextToken(tokens[:-5], sharing=REFERENCE), Score(tokens, REFERENCE, branch)]


def bits(runner: Runs, config: EngineConfig, limits: Limits, batch: list[Request]) -> Bits:
    """Run requests together on an empty pool; the bits of their results by place, empty for one that failed."""
    scheduler = _scheduler(config, limits)
    _add(scheduler, dict(enumerate(batch)), Priority.ROUTINE)
    return _ended(runner, scheduler)


def disturbed(
    runner: Runs,
    config: EngineConfig,
    limits: Limits,
    batch: list[Request],
    urgent: list[Request],
    outside: Outside | None = None,
    after: int = 2,
) -> list[Bits]:
    """As `bits`, of the batch and of the urgent ones that it gives way to after so many steps, `outside` or to be computed again,
    and of the batch once more on the same pool.
    """
    scheduler, first = _scheduler(config, limits, outside), len(batch)
    _add(scheduler, dict(enumerate(batch)), Priority.ROUTINE)
    begun = _ended(runner, scheduler, steps=after)
    _add(scheduler, dict(enumerate(urgent, start=first)), Priority.STAT)
    begun |= _ended(runner, scheduler)
    _add(scheduler, dict(enumerate(batch)), Priority.ROUTINE)
    return [
        {place: begun[place] for place in range(first)},
        {place: begun[first + place] for place in range(len(urgent))},
        _ended(runner, scheduler),
    ]


def frozen(runner: Runs, config: EngineConfig, limits: Limits, batch: list[Request], urgent: list[Request]) -> list[Bits]:
    """As `bits`, of the batch, whose passes are stopped after every layer, and of the urgent ones, one of which comes each time."""
    scheduler, left, found = _scheduler(config, limits), dict(enumerate(urgent, start=len(batch))), Bits()
    _add(scheduler, dict(enumerate(batch)), Priority.ROUTINE)
    while scheduler.has_work or left:
        scheduler.signal.raised, steps = True, scheduler.steps
        found |= _ended(runner, scheduler, steps=1)
        if left and (steps == scheduler.steps or not scheduler.has_work):
            handle = min(left)
            _add(scheduler, {handle: left.pop(handle)}, Priority.STAT)
    return [
        {place: found[place] for place in range(len(batch))},
        {place: found[len(batch) + place] for place in range(len(urgent))},
    ]


def _scheduler(config: EngineConfig, limits: Limits, outside: Outside | None = None) -> FreezingScheduler:
    return FreezingScheduler(config, BlockPool(config.blocks), limits, lambda: 0.0, outside)


def _add(scheduler: FreezingScheduler, batch: dict[int, Request], priority: Priority) -> None:
    for handle, request in batch.items():
        scheduler.add(handle, request, priority, 0.0)


def _ended(runner: Runs, scheduler: FreezingScheduler, steps: int | None = None) -> Bits:
    """Go so many steps, or to the end; the bits of what has ended, by handle."""
    found: Bits = {}
    while scheduler.has_work and steps != 0:
        step = scheduler.schedule(0.0)
        for outcome in scheduler.postprocess(step, runner.run(step)):
            found[outcome.handle] = numbers(outcome.result) if outcome.result else b""
        steps = None if steps is None else steps - 1
    return found


def numbers(result: Result) -> bytes:
    """Everything numerical of a result, exactly."""
    values = (*result.vector,) if isinstance(result, EmbedResult) else (*result.logprobs,)
    if isinstance(result, ScoreResult):
        values += (*result.alternatives,)
    return struct.pack(f"<{len(values)}d", *values)


def slides(runner: Runs, config: EngineConfig, limits: Limits, urgent: list[Request]) -> bool:
    """Whether what a sliding window leaves behind can be given away: the bits are those of one that kept every block."""
    far, kept = beyond(limits, config.blocks * config.block_size), dataclasses.replace(limits, window=None)
    alone = {place: bits(runner, config, kept, [request])[0] for place, request in enumerate(far)}
    few = dataclasses.replace(config, chunk=48, grid=16, token_budget=112, slots=min(len(far) + 1, config.slots))
    same = all(alone.values())
    for outside in (None, Outside(config.arena_blocks)) if far else ():
        first, _, again = disturbed(runner, few, limits, far, urgent, outside, after=(limits.window or 0) // few.chunk + 1)
        same = same and first == again == alone
    return same


def run(runner: Runs, config: EngineConfig, limits: Limits) -> tuple[bool, str]:
    """Whether bits are independent of the batch here, and the digest of the bits themselves (the golden value). Requests beyond a
    sliding window are no part of that digest.
    """
    mix = requests(limits, config.blocks * config.block_size)
    alone = {place: bits(runner, config, limits, [request])[0] for place, request in enumerate(mix)}
    together = bits(runner, config, limits, mix)
    narrow = dataclasses.replace(config, chunk=48, grid=16, token_budget=112)
    crowded = bits(runner, narrow, limits, mix[::-1])
    same = alone == together == {len(mix) - 1 - place: value for place, value in crowded.items()}
    related, urgent = range(_PLAIN, len(mix)), range(0, _PLAIN, 2)
    few = dataclasses.replace(narrow, slots=min(_FEW, config.slots))
    found = []
    for outside in (None, Outside(config.arena_blocks)):
        found += disturbed(runner, few, limits, [mix[place] for place in related], [mix[place] for place in urgent], outside)
    found += frozen(runner, few, limits, [mix[place] for place in related], [mix[place] for place in urgent])
    wanted = (*(related, urgent, related) * 2, related, urgent)
    same = same and found == [dict(enumerate(alone[place] for place in places)) for places in wanted]
    same = same and slides(runner, config, limits, [mix[place] for place in urgent])
    golden = hashlib.sha256(b"|".join(alone[place] for place in sorted(alone))).hexdigest()
    return same and all(alone.values()), golden
