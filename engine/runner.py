"""Runs the rows of a step through the model. The only part of the engine, with `model`, that touches tensors."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

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


class _Stopped(Exception):
    """A pass was stopped between two layers, and `Runner` keeps it."""


@dataclass(slots=True)
class _Pass:
    """Rows on their way through the layers: `hidden` `[T, hidden]` is what those before `layer` gave."""

    rows: Sequence[Row]
    step: StepInputs
    hidden: Tensor
    layer: int = 0


class Runner:
    """One model and its pool of keys and values, per layer in the layout of its kernels, blocks first; and the arena beside it.

    A pass that may be stopped looks at the signal after every layer; it is kept until it is resumed, or until a batch comes that
    does not run beside it. Rows that are replayed after a fault are not stopped.
    """

    def __init__(self, model: Model, config: EngineConfig) -> None:
        self.model, self._config = model, config
        made = [model.kernels.pools(config.blocks) for _ in range(model.layers)]
        self._keys, self._values = [keys for keys, _ in made], [values for _, values in made]
        self._barren = 0  # rows that have failed since one succeeded
        self._stopped: _Pass | None = None
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
        with torch.inference_mode():
            try:
                outputs = self._isolated(batch.rows, whole=self._whole(batch)) if batch.rows else []
            except _Stopped:
                return None
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
        self.arena.give(batch.swap_ins)
        if batch.copies:
            sources, targets = (torch.tensor(blocks) for blocks in zip(*batch.copies, strict=True))
            for pool in (*self._keys, *self._values):
                pool[targets] = pool[sources]

    def _whole(self, batch: Batch) -> Callable[[], list[RowOutput]]:
        """How all rows are computed together: from the beginning, or from the layer where they were stopped."""
        stopped, signal = self._stopped if batch.resumes else None, batch.signal or Signal()
        if not batch.beside:
            self._stopped = None
        if stopped is not None:
            return partial(self._go_on, stopped, signal, stoppable=batch.stoppable)
        return partial(self._forward, batch.rows, signal, stoppable=batch.stoppable)

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
            outputs, _, _ = self._tried(self._known)
        self._keys, self._values = kept
        return outputs is not None and outputs[0].error is None

    def _known(self) -> list[RowOutput]:
        pools = [self.model.kernels.pools(1) for _ in range(self.model.layers)]
        self._keys, self._values = [keys for keys, _ in pools], [values for _, values in pools]
        return self._forward([Row(0, 0, (0,), (0,), targets=(0,))])

    def _isolated(
        self, rows: Sequence[Row], *, short: bool = False, whole: Callable[[], list[RowOutput]] | None = None
    ) -> list[RowOutput]:
        """Run rows together; when that raises, replay them in halves until the guilty row stands alone. Where memory ran out, a row
        that stands alone is computed in parts.

        A replay writes the same keys and values to the same places, so it changes no bit of the others.
        """
        outputs, scarce, said = self._tried(whole or partial(self._forward, rows))
        if outputs is not None:
            for output in outputs if short else ():
                output.short = True
            return outputs
        if len(rows) > 1:
            half = len(rows) // 2
            return self._isolated(rows[:half], short=short or scarce) + self._isolated(rows[half:], short=short or scarce)
        parts = halves(rows[0]) if scarce else None
        if parts is not None:
            return [self._in_parts(*parts)]
        log.warning("request %d failed alone: %s", rows[0].handle, said, extra={"event": "row_failed"})
        if scarce:
            return [RowOutput(error=OutOfMemory(f"there was no memory for even one token of the request: {said}"), short=True)]
        return [RowOutput(error=RowFailed(f"computing the request raised {said}"), short=short)]

    def _in_parts(self, first: Row, second: Row) -> RowOutput:
        begun = self._isolated((first,), short=True)[0]
        return begun if begun.error is not None else joined(begun, self._isolated((go_on(second, begun),), short=True)[0])

    def _tried(self, compute: Callable[[], list[RowOutput]]) -> tuple[list[RowOutput] | None, bool, str]:
        """The outputs; or None, whether memory ran out, and what was said. What the attempt held hangs on the exception and is free
        again on return: the replay needs it.
        """
        try:
            return compute(), False, ""
        except _Stopped:
            raise
        except Exception as error:  # noqa: BLE001 — process edge: whatever one row raises must not reach the others
            return None, is_shortage(error), traceback.format_exception_only(error)[-1].strip()

    def _forward(self, rows: Sequence[Row], signal: Signal | None = None, *, stoppable: bool = False) -> list[RowOutput]:
        step = self._inputs(rows)
        return self._go_on(_Pass(rows, step, self.model.embed(step)), signal or Signal(), stoppable=stoppable)

    def _go_on(self, one: _Pass, signal: Signal, *, stoppable: bool) -> list[RowOutput]:
        for index in range(one.layer, self.model.layers):
            if stoppable and signal.raised and index > one.layer:  # one layer at least: every time it goes on it comes further
                one.layer = index
                self._stopped = one
                raise _Stopped
            one.hidden = self.model.layer(index, one.hidden, one.step, self._keys[index], self._values[index])
            signal.layers += 1
        return self._reader.read(one.rows, one.hidden)

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
        tokens, attend = torch.from_numpy(ids), self.model.kernels.plan(spans)
        return self.model.inputs(tokens, torch.from_numpy(where), torch.from_numpy(slots.reshape(-1)), attend)
