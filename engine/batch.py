"""What a step carries between scheduler and runner: rows out, outputs back. Plain data, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import RowFailed
from engine.request import Bits, Sampling


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw the token at absolute position `position` from the logits of the row's last token."""

    sampling: Sampling
    position: int


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk of one sequence: `tokens` stand at absolute positions `start …` and are computed in this step."""

    handle: int
    start: int
    tokens: tuple[int, ...]
    blocks: Sequence[int]  # the sequence's table; append-only, so a reference is enough
    targets: tuple[int, ...] = ()  # wanted: log P(targets[i] | everything up to tokens[i])
    draw: Draw | None = None
    commit: int = 0  # the sequence counts as computed up to here afterwards; padding commits nothing


@dataclass(frozen=True, slots=True)
class Batch:
    """All rows of one step, and the blocks that became free since the last."""

    rows: tuple[Row, ...]
    released: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens computed by the step."""
        return sum(len(row.tokens) for row in self.rows)


@dataclass(frozen=True, slots=True)
class RowOutput:
    """What a row gave: log-probabilities of its targets, or the drawn token and its log-probability, or an error."""

    logprobs: Bits = ()
    token: int | None = None
    error: RowFailed | None = None
