"""The score of a plain sequence: read whole where the model can, else in windows that overlap by half, on token boundaries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.alternates import is_ambiguous, losses
from engine.errors import ContextTooLong, InvalidRequest
from engine.protocols import AMBIGUOUS, TRIMMED, UNSCORED, SequencePlan, SequenceScore
from engine.request import PRIVATE, Score, ScoreResult, Sharing
from engine.tokenizers.interface import Tokenizer


def plan_sequence(
    sequence: str, tokenizer: Tokenizer, *, context: int, window: int | None = None, sharing: Sharing = PRIVATE
) -> SequencePlan:
    """The score of a whole sequence; `context` is `Engine.context`. Bases at its beginning that fill no token are left out.

    More tokens than that are scored with `window`, which is at most half of it: every token has a context of `window` to twice as
    many tokens, as in a region scan, the first ones what there is. ContextTooLong without it.
    """
    if not sequence:
        raise InvalidRequest("the sequence is empty")
    over = len(sequence) % (tokenizer.width or 1)
    encoded = tokenizer.encode(sequence[over:])
    ids, before, unscored = encoded.ids, tokenizer.before, 0 if tokenizer.before else 1
    if len(ids) <= unscored:
        raise InvalidRequest(f"{len(sequence)} bases make {len(ids)} tokens, of which this model scores none")
    positions = len(before) + len(ids) - 1
    used = None if positions <= context else _checked(window, positions, context, len(before))
    starts = range(0, len(ids) - used, used) if used else range(1)
    flags = losses(encoded) | ({TRIMMED} if over else set()) | (set() if before else {UNSCORED})
    flags |= {AMBIGUOUS} if is_ambiguous(sequence.upper()) else set()
    return SequencePlan(
        requests=tuple(Score((*before, *ids[start : start + 2 * used if used else None]), sharing) for start in starts),
        unknown=tuple(over + place for place in encoded.unknown),
        flags=tuple(sorted(flags)),
        bases=encoded.starts[-1] - encoded.starts[unscored],
        passed=tuple(max(0, len(before) - 1) + (used - unscored if used and start else 0) for start in starts),
        window=used,
        trimmed=over + encoded.trimmed,
    )


def _checked(window: int | None, positions: int, context: int, before: int) -> int:
    if window is None:
        raise ContextTooLong(positions=positions, context=context)
    most = (context + 1 - before) // 2
    if not 1 <= window <= most:
        raise InvalidRequest(f"the window must be between 1 and {most} tokens, half of the model's context, not {window}")
    return window


def combine_sequence(plan: SequencePlan, results: Sequence[ScoreResult]) -> SequenceScore:
    """Sum, mean per base and mean per token, each of an exact sum rounded once."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    logprobs = [value for result, passed in zip(results, plan.passed, strict=True) for value in result.logprobs[passed:]]
    total = math.fsum(logprobs)
    return SequenceScore(
        total=total,
        mean=total / plan.bases,
        bases=plan.bases,
        unknown=plan.unknown,
        flags=plan.flags,
        window=plan.window,
        tokens=len(logprobs),
        per_token=total / len(logprobs),
        trimmed=plan.trimmed,
    )
