"""The nouns of the engine: what is asked, with which urgency, and what comes back."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.errors import EngineError

Bits = Sequence[float]  # float32 values, held exactly by Python's doubles
Choice = int | tuple[int, ...]  # an id, or several different ones: that any of them comes, the sum of their probabilities
COLDEST = 1e-6  # a colder draw is greedy, and would divide logits beyond what a number holds


class Priority(enum.IntEnum):
    """Classes of urgency; the lower number goes first."""

    STAT = 0
    ASAP = 1
    URGENT = 2
    ROUTINE = 3


@dataclass(frozen=True, slots=True)
class Sharing:
    """Whose computed keys, values and scores a request may read and leave to others.

    `private` neither reads nor writes any cache: sentinels, shadows, validation, rescoring. `reference` is for sequence of a
    registered reference alone and is shared by everybody. `laboratory` is for patients' sequence, shared inside one laboratory
    under its `salt`.
    """

    kind: Literal["private", "reference", "laboratory"] = "private"
    salt: str = ""


def ids_of(choices: Iterable[Choice]) -> Iterator[int]:
    """Every id that is named."""
    for choice in choices:
        if isinstance(choice, tuple):
            yield from choice
        else:
            yield choice


PRIVATE, REFERENCE = Sharing("private"), Sharing("reference")


@dataclass(frozen=True, slots=True)
class Branch:
    """An alternate of a window: equal to it before the token `at` (at least 1), `tokens` from there to its end."""

    at: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Log-probability of every token but the first, given all before it. Equal requests have equal results.

    With `branch` the alternate is scored and not the window itself; what both have in common is computed once for all branches of
    equal windows and equal `sharing` that are there together (the trunk). With `alternatives` every token from `alternatives_from`
    on is also weighed against these choices.
    """

    tokens: tuple[int, ...]
    sharing: Sharing = PRIVATE
    branch: Branch | None = None
    alternatives: tuple[Choice, ...] = ()
    alternatives_from: int = 1

    @property
    def scored(self) -> tuple[int, ...]:
        """The tokens whose log-probability is asked for."""
        return self.tokens if self.branch is None else self.tokens[: self.branch.at] + self.branch.tokens


@dataclass(frozen=True, slots=True)
class NextToken:
    """Log-probabilities of the token after `context`: of `wanted` in their order, or of the whole vocabulary."""

    context: tuple[int, ...]
    wanted: tuple[Choice, ...] = ()
    sharing: Sharing = PRIVATE


@dataclass(frozen=True, slots=True)
class Embed:
    """Hidden states after the final norm, pooled over all positions (`mean`) or taken at the last."""

    tokens: tuple[int, ...]
    pooling: Literal["mean", "last"] = "mean"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one token is drawn: temperature 0 is greedy, `top_k` 0 keeps the whole vocabulary.

    The scheduler refuses a temperature below `COLDEST` other than 0, and any that is not finite.
    """

    temperature: float = 0.0
    top_k: int = 0
    seed: int = 0  # 64 bits, drawn when the request is placed and stored with it
    sample: int = 0  # number of the sample among those of one seed


@dataclass(frozen=True, slots=True)
class Generate:
    """At most `limit` tokens after the prompt; generation ends early with the token `end` (None: never)."""

    prompt: tuple[int, ...]
    limit: int
    sampling: Sampling = Sampling()
    end: int | None = None
    sharing: Sharing = PRIVATE


Request = Score | NextToken | Generate | Embed


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """`logprobs[i]` is log P(scored[i + 1] | scored[: i + 1]) in nats.

    `alternatives`, row by row for the tokens from `alternatives_from` on, holds log P of each alternative in the token's place.
    """

    logprobs: Bits
    alternatives: Bits = ()


@dataclass(frozen=True, slots=True)
class NextTokenResult:
    """Log-probabilities in nats, in the order of `wanted`, or by id."""

    logprobs: Bits


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """The pooled hidden state: float32 values of the last position, or their mean, accumulated in float64 by ascending position."""

    vector: tuple[float, ...]
    positions: int


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The new tokens (with the end token, if it came) and their log-probabilities before temperature and top-k."""

    tokens: tuple[int, ...]
    logprobs: Bits
    reason: Literal["length", "end"]


Result = ScoreResult | NextTokenResult | GenerateResult | EmbedResult


State = Literal["finished", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Interruption:
    """A time in which a request stood still for more urgent work, on the engine's clock.

    `frozen`: its pass stopped between two layers; `evicted`: it lost its slot, and its blocks with it.
    """

    how: Literal["frozen", "evicted", "swapped"]
    since: float
    until: float | None = None  # None: it still does


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one request ended. Times are what the engine's clock said, by default seconds since 1970."""

    handle: int
    state: State
    result: Result | None
    error: EngineError | None
    queued_at: float
    started_at: float | None  # None: never admitted
    finished_at: float
    steps: int  # steps that computed something for it
    reused: int = 0  # tokens taken from a trunk or from the cache instead of being computed for this request
    preempted: int = 0  # times it gave way to more urgent work
    interruptions: tuple[Interruption, ...] = ()  # when it stood still for that; the latest, if there were very many
    fingerprint: str = ""
    batch_invariant: bool = False
