"""A score of a fixed sequence: kept when a model is registered, and compared with when it is loaded to serve."""

from __future__ import annotations

import math

from engine.engine import Engine
from engine.errors import ModelRefused
from engine.request import Outcome, Priority
from engine.windows import combine_sequence, plan_sequence

LONGEST = 96  # bases, or as many as the context holds


def bases(length: int) -> str:
    """A fixed sequence without a short period: base i is number i² + 3i + ⌊i/7⌋, modulo 4, of A, C, G, T."""
    return "".join("ACGT"[(i * i + 3 * i + i // 7) % 4] for i in range(length))


def score(engine: Engine) -> tuple[int, float]:
    """The bases asked for, and their log-likelihood in nats, on an engine that nobody else steps.

    Raises ModelRefused where that is no number, and what the engine says where it cannot score at all.
    """
    asked = bases(min(LONGEST, max(2, engine.context - 8)))
    plan = plan_sequence(asked, engine.tokenizer, context=engine.context)
    for handle, request in enumerate(plan.requests):
        engine.submit(handle, request, Priority.ROUTINE)
    outcomes: dict[int, Outcome] = {}
    while engine.scheduler.has_work:
        outcomes.update((outcome.handle, outcome) for outcome in engine.step())
    for outcome in outcomes.values():
        if outcome.error is not None:
            raise outcome.error
    found = combine_sequence(plan, [outcomes[handle].result for handle in range(len(plan.requests))])  # type: ignore[misc]
    if not math.isfinite(found.total):
        raise ModelRefused(f"the smoke score of {len(asked)} bases is {found.total}, no number")
    return len(asked), found.total
