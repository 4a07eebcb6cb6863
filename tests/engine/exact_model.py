"""A model whose every probability is known: a Markov chain of order k that answers requests as an engine does."""

from __future__ import annotations

import functools
import math
import random
import struct
from dataclasses import dataclass

from engine.request import NextToken, NextTokenResult, Score, ScoreResult
from tests.engine.checkpoints import SYMBOLS

VOCABULARY = len(SYMBOLS)


@dataclass(frozen=True)
class MarkovChain:
    """log P of every token depends on the `order` tokens before it; float32, and of the full vocabulary."""

    order: int = 5

    @functools.cache  # noqa: B019 - there are a handful of chains
    def _row(self, context: tuple[int, ...]) -> tuple[float, ...]:
        weights = [random.Random(f"{self.order} {context} {token}").uniform(0.1, 3.0) for token in range(VOCABULARY)]
        return struct.unpack(f"<{VOCABULARY}f", struct.pack(f"<{VOCABULARY}f", *(math.log(w / sum(weights)) for w in weights)))

    def after(self, context: tuple[int, ...]) -> tuple[float, ...]:
        """log P of each token after all of `context`."""
        return self._row(context[-self.order :])

    def score(self, request: Score) -> ScoreResult:
        tokens = request.scored
        rows = [self.after(tokens[:place]) for place in range(1, len(tokens))]
        asked = [row[token] for row in rows[request.alternatives_from - 1 :] for token in request.alternatives]
        return ScoreResult(tuple(row[token] for row, token in zip(rows, tokens[1:], strict=True)), tuple(asked))

    def answer(self, request: Score | NextToken) -> ScoreResult | NextTokenResult:
        if isinstance(request, Score):
            return self.score(request)
        row = self.after(request.context)
        return NextTokenResult(tuple(row[token] for token in request.wanted) if request.wanted else row)
