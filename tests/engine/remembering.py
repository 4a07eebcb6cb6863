"""A model that reads what its blocks hold: every answer depends on every token before it, read from memory alone."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence

from engine.batch import Batch, Extra, ExtraOutput, Row, RowOutput
from engine.errors import RowFailed
from engine.request import Embed, Generate, NextToken, Request, Result, Score
from engine.shortage import go_on, halves, joined

VOCABULARY = 11
BLANK, UNKNOWN = (-1, -1), 1 << 70  # what a blank block holds, and the state of who has read it: no hash is that large
Answer = tuple[Sequence[float], Sequence[float]]


class Remembering:
    """Blocks hold (position, token), and what is kept of a block's end. What is freed is emptied, and to read it is an error.

    `faults` is the share of rows that fail, `shortages` of those computed in parts.
    """

    def __init__(self, blocks: int, size: int, window: int | None, generator: random.Random, *, faults: float, shortages: float):
        self._kept: list[list[tuple[int, int] | None]] = [[None] * size for _ in range(blocks)]
        self._ends: list[int | None] = [None] * blocks
        self.arena: dict[int, tuple[list[tuple[int, int] | None], int | None]] = {}  # by slot
        self._size, self._window, self._generator = size, window, generator
        self._faults, self._shortages = faults, shortages

    def run(self, batch: Batch) -> list[RowOutput]:
        for slot in batch.dropped:
            self.arena.pop(slot, None)
        for block, slot in batch.swap_outs:
            self.arena[slot] = list(self._kept[block]), self._ends[block]
        for block in batch.released:
            self._kept[block], self._ends[block] = [None] * self._size, None
        for block in batch.blank:
            self._kept[block] = [BLANK] * self._size
        for slot, block in batch.swap_ins:
            self._kept[block], self._ends[block] = list(self.arena[slot][0]), self.arena[slot][1]
        copied = [(target, list(self._kept[source])) for source, target in batch.copies]
        for target, content in copied:
            self._kept[target] = content
        return [self._row(row) for row in batch.rows]

    def _row(self, row: Row) -> RowOutput:
        if self._generator.random() < self._faults:
            return RowOutput(error=RowFailed())
        return self._parts(row) if self._generator.random() < self._shortages else self._whole(row)

    def _parts(self, row: Row) -> RowOutput:
        parts = halves(row)
        if parts is None:
            output = self._whole(row)
            output.short = True
            return output
        first = self._whole(parts[0])
        return joined(first, self._parts(go_on(parts[1], first)))

    def _state(self, tokens: Sequence[int]) -> int:
        """One layer: it depends on the tokens in the window alone, and is unknown where one of them is blank."""
        if self._window is not None and BLANK[1] in tokens[-self._window :]:
            return UNKNOWN
        return hash(tuple(tokens if self._window is None else tokens[-self._window :]))

    @staticmethod
    def _logprob(state: int, token: int) -> float:
        assert state != UNKNOWN, "somebody wants what depends on a blank block"
        return -(hash((state, token)) % 4096) / 16

    @staticmethod
    def _drawn(state: int, seed: int, position: int) -> int:
        return hash((state, seed, position)) % VOCABULARY

    def _before(self, row: Row) -> list[int]:
        """Tokens before the row, as its blocks hold them."""
        found = []
        for position in range(0 if self._window is None else max(0, row.start - self._window + 1), row.start):
            place = position // self._size - row.first
            held = self._kept[row.blocks[place]][position % self._size] if place >= 0 else None
            assert held is not None and held[0] in (position, BLANK[0]), f"request {row.handle} reads {held} at {position}"
            found.append(held[1])
        return found

    def _whole(self, row: Row) -> RowOutput:
        tokens, states, size = self._before(row), [], self._size
        for position, token in enumerate(row.tokens, start=row.start):
            self._kept[row.blocks[position // size - row.first]][position % size] = (position, token)
            tokens.append(token)
            states.append(self._state(tokens))
        for block in range(row.start // size, row.commit // size):
            self._ends[row.blocks[block - row.first]] = states[(block + 1) * size - 1 - row.start]
        extra = row.extra or Extra()
        logprobs = [self._logprob(states[extra.skip + line], token) for line, token in enumerate(row.targets)]
        drawn = None
        if row.draw is not None:
            state = states[row.commit - row.start - 1]
            drawn = self._drawn(state, row.draw.seed, row.commit)
            logprobs = [self._logprob(state, drawn)]
        return RowOutput(array("f", logprobs), drawn, extra=row.extra and self._extra(row, row.extra, states))

    def _extra(self, row: Row, extra: Extra, states: list[int]) -> ExtraOutput:
        lead = []
        if extra.lead:
            end = self._ends[row.blocks[row.start // self._size - 1 - row.first]]
            assert end is not None, f"request {row.handle} reads a state that nobody kept"
            lead = [self._logprob(end, token) for token in extra.lead]
        committed = states[: max(0, row.commit - row.start)]
        ids = range(VOCABULARY) if extra.ids == () else extra.ids or ()
        pooled = None
        if extra.pooled is not None:
            lines = committed[-1:] if extra.last_only else committed
            pooled = array("d", [sum(map(self._feature, lines), 0.0 if extra.last_only or not extra.pooled else extra.pooled[0])])
        return ExtraOutput(
            lead,
            [self._logprob(states[line], token) for line, token in extra.forks],
            [self._logprob(state, token) for state in committed[extra.ids_from :] for token in ids],
            pooled,
        )

    @staticmethod
    def _feature(state: int) -> float:
        return float(state % 97)

    def expected(self, request: Request) -> Answer:
        """What a request must give, from its own tokens alone."""
        if isinstance(request, Score):
            tokens = request.scored
            states = [self._state(tokens[:place]) for place in range(1, len(tokens))]
            weighed = states[request.alternatives_from - 1 :]
            alternatives = [self._logprob(state, token) for state in weighed for token in request.alternatives]
            return [self._logprob(*pair) for pair in zip(states, tokens[1:], strict=True)], alternatives
        if isinstance(request, NextToken):
            state = self._state(request.context)
            return [self._logprob(state, token) for token in request.wanted or range(VOCABULARY)], ()
        if isinstance(request, Embed):
            values = [self._feature(self._state(request.tokens[: place + 1])) for place in range(len(request.tokens))]
            return [values[-1] if request.pooling == "last" else sum(values) / len(values)], ()
        return self._generated(request)

    def _generated(self, request: Generate) -> Answer:
        tokens, logprobs = list(request.prompt), []
        while len(logprobs) < request.limit and not (logprobs and tokens[-1] == request.end):
            state = self._state(tokens)
            tokens.append(self._drawn(state, request.sampling.seed, len(tokens)))
            logprobs.append(self._logprob(state, tokens[-1]))
        return logprobs, tokens[len(request.prompt) :]


def answer(result: Result) -> Answer:
    """A result as `Remembering.expected` says it."""
    if hasattr(result, "vector"):
        return list(result.vector), ()
    return list(result.logprobs), getattr(result, "alternatives", None) or getattr(result, "tokens", ())
