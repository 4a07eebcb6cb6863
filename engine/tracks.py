"""What a variant's score is summed from, token by token: the log-probabilities that `combine` adds up, with the bases of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.protocols import VariantPlan
from engine.request import Score
from engine.tokenizers.interface import Tokenizer
from engine.windows import VariantResult, counted_values

UNREAD = "?"  # a base inside a token that stands for "unknown"


def spell(plan: VariantPlan, results: Sequence[VariantResult], tokenizer: Tokenizer) -> dict[str, Any]:
    """Plain values: for each strand, the forward one first, its reference windows and its alternates.

    A window holds `starts` (bases of the window before each token, in the direction of reading), `bases` of each token and
    `log_probabilities` in nats, of the tokens that count alone; their exact sum over the windows of a side is its log-likelihood.
    """
    size = len(results) // plan.strands
    strands = []
    for first in range(0, len(results), size):
        sides = counted_values(plan, results[first : first + size])
        values = [*sides[0], *sides[1]]
        windows = [_window(one, tokenizer, found) for one, found in zip(plan.requests[first : first + size], values, strict=False)]
        strands.append({"ref": windows[: len(sides[0])], "alt": windows[len(sides[0]) :]})
    return {"scored_as": plan.scored_as, "window": plan.window, "offset": plan.offset, "strands": strands}


def _window(request: object, tokenizer: Tokenizer, values: Sequence[float]) -> dict[str, Any]:
    if not isinstance(request, Score):  # of an allele alone: there is no window
        return {"starts": [], "bases": [], "log_probabilities": list(values)}
    texts = [tokenizer.decode((token,)) or UNREAD * (tokenizer.width or 1) for token in request.scored[len(tokenizer.before) :]]
    uncounted = len(texts) - len(values)
    starts = [sum(map(len, texts[:place])) for place in range(uncounted, len(texts))]
    return {"starts": starts, "bases": texts[uncounted:], "log_probabilities": list(values)}
