"""Runs the rows of a step through the model. The only part of the engine, with `model`, that touches tensors."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine import sampling
from engine.batch import Batch, Row, RowOutput
from engine.config import EngineConfig
from engine.errors import NonFinite, RowFailed
from engine.model import Model, StepInputs
from kernels.plan import Span

log = logging.getLogger(__name__)

_HEAD_ELEMENTS = 1 << 22  # logits held at once, in elements: a large vocabulary is done in pieces


class Runner:
    """One model and its pool of keys and values, per layer in the layout of its kernels, blocks first."""

    def __init__(self, model: Model, config: EngineConfig) -> None:
        self.model, self._config = model, config
        pools = [model.kernels.pools(config.blocks) for _ in range(model.layers)]
        self._keys, self._values = [keys for keys, _ in pools], [values for _, values in pools]
        if config.poison_free_blocks:
            for pool in (*self._keys, *self._values):
                pool.fill_(float("nan"))

    def run(self, batch: Batch) -> list[RowOutput]:
        """Compute every row; an output per row, in order. A row that fails does so alone."""
        if torch.get_num_threads() != self._config.threads:  # counted per thread, and what was proven was proven for this number
            torch.set_num_threads(self._config.threads)
        if self._config.poison_free_blocks and batch.released:
            freed = torch.tensor(batch.released)
            for pool in (*self._keys, *self._values):
                pool[freed] = float("nan")
        with torch.inference_mode():
            return self._isolated(batch.rows) if batch.rows else []

    def _isolated(self, rows: Sequence[Row]) -> list[RowOutput]:
        """Run rows together; when that raises, replay them in halves until the guilty row stands alone.

        A replay writes the same keys and values to the same places, so it changes no bit of the others.
        """
        try:
            return self._forward(rows)
        except Exception as error:  # noqa: BLE001 — process edge: whatever one row raises must not reach the others
            if len(rows) > 1:
                half = len(rows) // 2
                return self._isolated(rows[:half]) + self._isolated(rows[half:])
            log.warning("request %d failed alone: %s", rows[0].handle, error, extra={"event": "row_failed"})
            return [RowOutput(error=RowFailed(f"computing the request raised {type(error).__name__}: {error}"))]

    def _forward(self, rows: Sequence[Row]) -> list[RowOutput]:
        step = self._inputs(rows)
        hidden = self.model.embed(step)
        for index in range(self.model.layers):
            hidden = self.model.layer(index, hidden, step, self._keys[index], self._values[index])
        return self._outputs(rows, hidden)

    def _inputs(self, rows: Sequence[Row]) -> StepInputs:
        geometry = self.model.geometry
        size, kv_heads = geometry.block_size, geometry.kv_heads
        spans: list[Span] = []
        ids, positions, blocks = [], [], []
        first = 0
        for row in rows:
            where = np.arange(row.start, row.start + len(row.tokens))
            spans.append(Span(first, row.start, len(row.tokens), row.blocks, row.first))
            ids.append(np.array(row.tokens))
            positions.append(where)
            blocks.append(np.array(row.blocks)[where // size - row.first])
            first += len(row.tokens)
        where, block = np.concatenate(positions), np.concatenate(blocks)
        slots = (block[:, None] * kv_heads + np.arange(kv_heads)) * size + (where % size)[:, None]
        tokens, attend = torch.from_numpy(np.concatenate(ids)), self.model.kernels.plan(spans)
        return self.model.inputs(tokens, torch.from_numpy(where), torch.from_numpy(slots.reshape(-1)), attend)

    def _outputs(self, rows: Sequence[Row], hidden: Tensor) -> list[RowOutput]:
        wanted, targets, spans, first = [], [], [], 0
        for row in rows:
            if row.draw is not None:
                wanted.append(first + row.draw.position - 1 - row.start)
                targets.append(0)  # the drawn token is not known yet
            wanted.extend(range(first, first + len(row.targets)))
            targets.extend(row.targets)
            spans.append(len(row.targets) + (row.draw is not None))
            first += len(row.tokens)
        if not wanted:
            return [RowOutput() for _ in rows]
        return self._read(rows, spans, hidden.index_select(0, torch.tensor(wanted)), targets)

    def _read(self, rows: Sequence[Row], spans: list[int], hidden: Tensor, targets: list[int]) -> list[RowOutput]:
        """Logits piece by piece, then a verdict for each row from its `spans[i]` lines of `hidden`."""
        ends = np.cumsum(spans)
        drawing = {int(end) - 1: row.draw for end, row in zip(ends, rows, strict=True) if row.draw is not None}
        drawn: dict[int, int] = {}
        chosen = torch.tensor(targets)
        logprobs, finite = torch.empty(len(targets)), torch.empty(len(targets), dtype=torch.bool)
        piece = max(1, _HEAD_ELEMENTS // self.model.config.vocabulary)
        for start in range(0, len(targets), piece):
            logits = self.model.head(hidden[start : start + piece])
            part = slice(start, start + logits.shape[0])
            finite[part] = torch.isfinite(logits).all(-1)
            for line, draw in drawing.items():
                if part.start <= line < part.stop and finite[line]:
                    drawn[line] = sampling.draw(logits[line - start].numpy(), draw.sampling, draw.position)
                    chosen[line] = drawn[line]
            logprobs[part] = self.model.kernels.log_probabilities(logits, chosen[part])
        finite &= torch.isfinite(logprobs)
        outputs = []
        for row, span, end in zip(rows, spans, ends.tolist(), strict=True):
            if not bool(finite[end - span : end].all()):
                outputs.append(RowOutput(error=NonFinite()))
            else:
                outputs.append(RowOutput(tuple(logprobs[end - span : end].tolist()), drawn.get(end - 1) if row.draw else None))
        return outputs
