"""Runs the rows of a step through the model. The only part of the engine, with `model`, that touches tensors."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from engine.batch import Batch, Row, RowOutput, Signal
from engine.config import EngineConfig
from engine.errors import EngineFailed, OutOfMemory, RowFailed
from engine.model import Model, StepInputs
from engine.reading import Reader
from engine.shortage import go_on, halves, is_shortage, joined
from engine.swap.arena import Arena
from kernels.plan import Span

log = logging.getLogger(__name__)

_DOUBT_AFTER = 4  # rows that fail in succession before it is tried whether anything can be computed at all


_Given = TypeVar("_Given")
_Work = Generator[None, None, _Given]  # yields where it stands still between two layers


@dataclass(slots=True)
class _Pass:
    """Rows on their way through the layers, replays included. `hidden` `[T, hidden]` is what the layer before the next gave."""

    signal: Signal
    stoppable: bool
    hidden: Tensor = field(default_factory=lambda: torch.empty(0))
    work: _Work[list[RowOutput]] = field(init=False)

    @property
    def stops(self) -> bool:
        """Whether somebody is to be heard for whom it stands still."""
        return self.signal.steered or (self.stoppable and self.signal.raised)


def _end(work: _Work[_Given]) -> _Given | None:
    """Go on to the end, and what that gives; None: it was stopped."""
    try:
        next(work)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    return None


class Runner:
    """One model and its pool of keys and values, per layer in the layout of its kernels, blocks first; and the arena beside it.

    A pass looks at the signal after every layer, also where its rows are replayed after a fault. One that was stopped is kept
    until it is resumed, or until a batch comes that does not run beside it; the pass of such a batch may be stopped too.
    """

    def __init__(self, model: Model, config: EngineConfig) -> None:
        self.model, self._config = model, config
        made = [model.kernels.pools(config.blocks) for _ in range(model.layers)]
        self._keys, self._values = [keys for keys, _ in made], [values for _, values in made]
        self._barren = 0  # rows that have failed since one succeeded
        self._kept: list[_Pass] = []  # a pass that was stopped, and one beside it that was too
        self._reader = Reader(model, config.blocks, config.block_size)
        if config.poison_free_blocks:
            for pool in (*self._keys, *self._values):
                pool.fill_(float("nan"))
        pools = (*self._keys, *self._values, self._reader.tails)
        self.arena = Arena(pools, config.arena_blocks, poison=config.poison_free_blocks)

    def run(self, batch: Batch) -> list[RowOutput] | None:
        """Compute every row; an output per row, in order, or None when the pass was stopped. A row that fails does so alone;
        EngineFailed when none can be computed.
        """
        if torch.get_num_threads() != self._config.threads:  # counted per thread, and what was proven was proven for this number
            torch.set_num_threads(self._config.threads)
        self._move(batch)
        one = self._pass_of(batch)
        with torch.inference_mode():
            outputs = _end(one.work) if batch.rows else []
        if outputs is None:
            self._kept.append(one)
        else:
            self._doubt(outputs)
        return outputs

    def _move(self, batch: Batch) -> None:
        """Everything that comes before the rows, in the order that `Batch` promises."""
        self.arena.forget(batch.dropped)
        self.arena.take(batch.swap_outs)
        if self._config.poison_free_blocks and batch.released:
            freed = torch.tensor(batch.released)
            for pool in (*self._keys, *self._values):
                pool[freed] = float("nan")
            self._reader.forget(batch.released)
        for pool in (*self._keys, *self._values) if batch.blank else ():
            pool[list(batch.blank)] = 0.0
        self.arena.give(batch.swap_ins)
        if batch.copies:
            sources, targets = (torch.tensor(blocks) for blocks in zip(*batch.copies, strict=True))
            for pool in (*self._keys, *self._values):
                pool[targets] = pool[sources]

    def _pass_of(self, batch: Batch) -> _Pass:
        """From the beginning, or from the layer where it was stopped; what the batch leaves no room for is given up."""
        depth, signal = int(batch.beside), batch.signal or Signal()
        kept, self._kept = self._kept[depth:], self._kept[:depth]
        if kept and batch.resumes:
            one = kept.pop(0)
            one.signal, one.stoppable = signal, batch.stoppable
        else:
            one = _Pass(signal, batch.stoppable)
            one.work = self._isolated(batch.rows, one)
        for dropped in kept:
            dropped.work.close()
        return one

    def _doubt(self, outputs: list[RowOutput]) -> None:
        """A request that fails is to blame for it; when one after the other fails and a known one does too, the engine is."""
        for output in outputs:
            self._barren = self._barren + 1 if output.error is not None else 0
            if self._barren >= _DOUBT_AFTER and not self._sound():
                raise EngineFailed(f"no request can be computed any more, the last: {output.error}")

    def _sound(self) -> bool:
        """Whether one token that is in every vocabulary can be scored, on a block outside the pool."""
        self._barren, kept = 0, (self._keys, self._values)
        with torch.inference_mode():
            outputs, _, _ = _end(self._tried(self._known)) or (None, False, "")
        self._keys, self._values = kept
        return outputs is not None and outputs[0].error is None

    def _known(self) -> _Work[list[RowOutput]]:
        pools = [self.model.kernels.pools(1) for _ in range(self.model.layers)]
        self._keys, self._values = [keys for keys, _ in pools], [values for _, values in pools]
        return self._forward([Row(0, 0, (0,), (0,), targets=(0,))], _Pass(Signal(), stoppable=False))

    def _isolated(self, rows: Sequence[Row], one: _Pass, *, short: bool = False) -> _Work[list[RowOutput]]:
        """Run rows together; when that raises, replay them in halves until the guilty row stands alone. Where memory ran out, a row
        that stands alone is computed in parts.

        A replay writes the same keys and values to the same places, so it changes no bit of the others.
        """
        outputs, scarce, said = yield from self._tried(partial(self._forward, rows, one))
        if outputs is not None:
            for output in outputs if short else ():
                output.short = True
            return outputs
        if len(rows) > 1:
            half, short = len(rows) // 2, short or scarce
            first = yield from self._isolated(rows[:half], one, short=short)
            second = yield from self._isolated(rows[half:], one, short=short)
            return first + second
        parts = halves(rows[0]) if scarce else None
        if parts is not None:
            return (yield from self._in_parts(*parts, one))
        log.warning("request %d failed alone: %s", rows[0].handle, said, extra={"event": "row_failed"})
        if scarce:
            return [RowOutput(error=OutOfMemory(f"there was no memory for even one token of the request: {said}"), short=True)]
        return [RowOutput(error=RowFailed(f"computing the request raised {said}"), short=short)]

    def _in_parts(self, first: Row, second: Row, one: _Pass) -> _Work[list[RowOutput]]:
        (begun,) = yield from self._isolated((first,), one, short=True)
        if begun.error is not None:
            return [begun]
        (ended,) = yield from self._isolated((go_on(second, begun),), one, short=True)
        return [joined(begun, ended)]

    def _tried(self, compute: Callable[[], _Work[list[RowOutput]]]) -> _Work[tuple[list[RowOutput] | None, bool, str]]:
        """The outputs; or None, whether memory ran out, and what was said. What the attempt held hangs on the exception and is free
        again on return: the replay needs it.
        """
        try:
            return (yield from compute()), False, ""
        except Exception as error:  # noqa: BLE001 — process edge: whatever one row raises must not reach the others
            return None, is_shortage(error), traceback.format_exception_only(error)[-1].strip()

    def _forward(self, rows: Sequence[Row], one: _Pass) -> _Work[list[RowOutput]]:
        step = self._inputs(rows)
        one.hidden = self.model.embed(step)
        try:
            for index in range(self.model.layers):
                if index and one.stops:  # it goes on with the layer: every time it comes further
                    yield
                one.hidden = self.model.layer(index, one.hidden, step, self._keys[index], self._values[index])
                one.signal.layers += 1
            return self._reader.read(rows, one.hidden)
        finally:
            one.hidden = torch.empty(0)

    def _inputs(self, rows: Sequence[Row]) -> StepInputs:
        geometry = self.model.geometry
        size, kv_heads = geometry.block_size, geometry.kv_heads
        start, gone, lengths, held = np.array([(row.start, row.first, len(row.tokens), len(row.blocks)) for row in rows]).T
        firsts, tables = np.cumsum(lengths) - lengths, np.cumsum(held) - held  # where a row's tokens and its blocks begin
        blocks = np.fromiter(chain.from_iterable(row.blocks for row in rows), np.int64, int(held.sum()))
        ids = np.fromiter(chain.from_iterable(row.tokens for row in rows), np.int64, int(lengths.sum()))
        where = np.arange(len(ids)) + np.repeat(start - firsts, lengths)
        block = blocks[where // size + np.repeat(tables - gone, lengths)]
        slots = (block[:, None] * kv_heads + np.arange(kv_heads)) * size + (where % size)[:, None]
        spans = [
            Span(first, row.start, len(row.tokens), row.blocks, row.first) for first, row in zip(firsts.tolist(), rows, strict=True)
        ]
        tokens, attend = torch.from_numpy(ids), self.model.plan(spans)
        return self.model.inputs(tokens, torch.from_numpy(where), torch.from_numpy(slots.reshape(-1)), attend)
