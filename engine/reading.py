"""What is read from the hidden states of a step: log-probabilities, drawn tokens, pooled states, and what blocks keep of their end.

A line is a state after the final norm: that of one of the step's tokens, or the one kept for the block before a row. Any number of
ids is read from a line at the price of one normaliser, alone or several together; logits exist for some of the lines at a time.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engine import choices, sampling
from engine.batch import Extra, ExtraOutput, Row, RowOutput
from engine.errors import NonFinite
from engine.model import Model
from engine.request import Choice

HEAD_ELEMENTS = 1 << 22  # logits held at once, in elements: a large vocabulary is done in pieces
_NONE = Extra()


@dataclass(slots=True)
class _Entries:
    """Log P of `ids[i]` is wanted after line `at[i]`; the entries of a row stand together, from `starts[row]` on.

    -1 - n in the place of an id stands for the ids of `together[n]`, whose probabilities are added.
    """

    at: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    together: dict[tuple[int, ...], int] = field(default_factory=dict)  # to its number
    drawn: dict[int, int] = field(default_factory=dict)  # entry whose id is drawn, to its row
    kept: list[int] = field(default_factory=list)  # blocks whose kept state is a line, after those of the step

    def number(self, choice: Choice) -> int:
        """What stands in `ids` for a choice."""
        if isinstance(choice, int):
            return choice
        return choice[0] if len(choice) == 1 else -1 - self.together.setdefault(choice, len(self.together))


class Reader:
    """Reads for one model. `tails` `[blocks, hidden]` is what blocks keep: the normed state of their last position."""

    def __init__(self, model: Model, blocks: int, block_size: int) -> None:
        self._model, self._size = model, block_size
        self.tails = torch.zeros(blocks, model.config.hidden)

    def forget(self, blocks: Sequence[int]) -> None:
        """Fill what is kept for freed blocks with NaN, so that reading it cannot go unseen."""
        self.tails[list(blocks)] = float("nan")

    def read(self, rows: Sequence[Row], hidden: Tensor) -> list[RowOutput]:
        """Outputs in the order of the rows; `hidden [T, width]` are their states after the last layer."""
        firsts = list(accumulate((len(row.tokens) for row in rows), initial=0))
        normed = self._model.norm(hidden)
        self._keep(rows, firsts, normed)
        entries = self._entries(rows, firsts)
        lines = torch.cat((normed, self.tails[entries.kept])) if entries.kept else normed
        values, ids, finite = self._values(rows, entries, lines)
        floats, sound = array("f", values.tobytes()), _sound(rows, firsts, normed, entries, finite)
        outputs = []
        for place, (row, first) in enumerate(zip(rows, firsts, strict=False)):
            start, end = entries.starts[place], entries.starts[place + 1]
            if not sound[place]:
                outputs.append(RowOutput(error=NonFinite()))
            elif row.extra is None:
                outputs.append(RowOutput(floats[start:end], None if row.draw is None else int(ids[start])))
            else:
                outputs.append(_answered(row, row.extra, floats[start:end], normed[first : first + max(0, row.commit - row.start)]))
        return outputs

    def _keep(self, rows: Sequence[Row], firsts: list[int], normed: Tensor) -> None:
        """Store the state at the end of every block that a row completes."""
        size, blocks, lines = self._size, [], []
        for row, first in zip(rows, firsts, strict=False):
            for block in range(row.start // size, row.commit // size):
                blocks.append(row.blocks[block - row.first])
                lines.append(first + (block + 1) * size - 1 - row.start)
        if blocks:
            self.tails[blocks] = normed[lines]

    def _entries(self, rows: Sequence[Row], firsts: list[int]) -> _Entries:
        """A row's entries: lead, targets, forks, ids; or the one that is drawn."""
        found = _Entries()
        at, ids, total = found.at, found.ids, firsts[-1]
        for place, (row, first) in enumerate(zip(rows, firsts, strict=False)):
            found.starts.append(len(at))
            extra = row.extra or _NONE
            if extra.lead:
                at.extend([total + len(found.kept)] * len(extra.lead))
                ids.extend(extra.lead)
                found.kept.append(row.blocks[row.start // self._size - 1 - row.first])
            if row.targets:
                at.extend(range(first + extra.skip, first + extra.skip + len(row.targets)))
                ids.extend(row.targets)
            for line, token in extra.forks:
                at.append(first + line)
                ids.append(token)
            if extra.ids is not None:
                wanted = [found.number(choice) for choice in extra.ids] or range(self._model.config.vocabulary)
                for line in range(extra.ids_from, row.commit - row.start):
                    at.extend([first + line] * len(wanted))
                    ids.extend(wanted)
            if row.draw is not None:
                found.drawn[len(at)] = place
                at.append(first + row.commit - row.start - 1)
                ids.append(0)  # not known yet
        found.starts.append(len(at))
        return found

    def _values(
        self, rows: Sequence[Row], entries: _Entries, lines: Tensor
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Log P of every entry, its id, drawn ones filled in, and whether the line and the value are finite."""
        at, ids = np.array(entries.at, dtype=np.int64), np.array(entries.ids, dtype=np.int64)
        values, finite = np.empty(len(at), dtype=np.float32), np.zeros(len(at), dtype=np.bool_)
        needed, inverse = _distinct(at)
        drawn = np.fromiter(entries.drawn, dtype=np.int64)
        piece = max(1, HEAD_ELEMENTS // self._model.config.vocabulary)
        for start in range(0, len(needed), piece):
            logits = self._model.logits(lines[torch.from_numpy(needed[start : start + piece])])
            maximum, log_total = (part.numpy() for part in self._model.kernels.normalisers(logits))
            table, lines_here = logits.numpy(), inverse - start
            sound = np.isfinite(table).all(-1)
            whole = len(table) == len(needed)
            to_draw = drawn if whole else drawn[_within(lines_here[drawn], len(table))]
            if len(to_draw):
                asking = [rows[entries.drawn[entry]] for entry in to_draw.tolist()]
                ids[to_draw] = _draws(table[lines_here[to_draw]], sound[lines_here[to_draw]], asking)
            here = slice(None) if whole else np.flatnonzero(_within(lines_here, len(table)))
            line, wanted = lines_here[here], ids[here]
            with np.errstate(invalid="ignore", over="ignore"):  # a line that is not finite is reported, not warned of
                found = (table[line, np.maximum(wanted, 0)] - maximum[line]) - log_total[line]
                for number, several in enumerate(entries.together):
                    which = wanted == -1 - number
                    there = line[which]
                    found[which] = choices.log_p(logits[torch.from_numpy(there)], maximum[there], log_total[there], several)
            values[here] = found
            finite[here] = np.isfinite(found) & sound[line]
        return values, ids, finite


def _distinct(at: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The lines in `at`, ascending, each once, and for each entry which of them is its own."""
    if (at[1:] > at[:-1]).all():  # most steps ask one thing of a line
        return at, np.arange(len(at))
    needed, inverse = np.unique(at, return_inverse=True)
    return needed, inverse


def _within(lines: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.bool_]:
    return (lines >= 0) & (lines < count)


def _draws(logits: npt.NDArray[np.float32], sound: npt.NDArray[np.bool_], rows: Sequence[Row]) -> npt.NDArray[np.int64]:
    """The token that each row draws from its line of `logits [n, V]`; any where the line is not sound."""
    drawn: npt.NDArray[np.int64] = logits.argmax(-1)  # the greedy ones: the first of equals
    for line, row in enumerate(rows):
        if row.draw is not None and row.draw.temperature != 0.0 and sound[line]:
            drawn[line] = sampling.draw(logits[line], row.draw, row.commit)
    return drawn


def _sound(
    rows: Sequence[Row], firsts: list[int], normed: Tensor, entries: _Entries, finite: npt.NDArray[np.bool_]
) -> Sequence[bool]:
    """Of each row whether all that was read is finite, and the lines from which nothing is read: others may take up their keys
    and values.
    """
    if finite.all() and math.isfinite(float(normed.sum())):  # the rule, told at once: what is not finite makes no finite sum
        return [True] * len(rows)
    found = []
    for place, (row, first) in enumerate(zip(rows, firsts, strict=False)):
        states = normed[first : first + max(0, row.commit - row.start)]
        read = len(row.targets) + (row.draw is not None)
        whole = bool(finite[entries.starts[place] : entries.starts[place + 1]].all())
        found.append(whole and (read >= len(states) or bool(torch.isfinite(states).all())))
    return found


def _answered(row: Row, extra: Extra, values: array[float], states: Tensor) -> RowOutput:
    """The output of a row that asks more; `values` are those of its lead, targets, forks and ids."""
    targets = len(extra.lead)
    forks = targets + len(row.targets)
    ids = forks + len(extra.forks)
    pooled = None if extra.pooled is None else _pooled(extra, states)
    return RowOutput(values[targets:forks], extra=ExtraOutput(values[:targets], values[forks:ids], values[ids:], pooled))


def _pooled(extra: Extra, normed: Tensor) -> array[float]:
    """Sums in float64, one position after the other, so that no chunk boundary can be seen in them."""
    states = normed.numpy().astype(np.float64)
    if extra.last_only:
        return array("d", states[-1].tobytes())
    total = np.frombuffer(extra.pooled, dtype=np.float64).copy() if extra.pooled else np.zeros(states.shape[1])
    for state in states:
        total += state
    return array("d", total.tobytes())
