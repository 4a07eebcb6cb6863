"""The nouns of the engine: what is asked, with which urgency, and what comes back."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from engine.errors import EngineError

Bits = tuple[float, ...]  # float32 values, held exactly by Python's doubles
COLDEST = 1e-6  # a colder draw is greedy, and would divide logits beyond what a number holds


class Priority(enum.IntEnum):
    """Classes of urgency; the lower number goes first."""

    STAT = 0
    ASAP = 1
    URGENT = 2
    ROUTINE = 3


@dataclass(frozen=True, slots=True)
class Score:
    """Log-probability of every token but the first, given all before it. Equal tokens are equal requests."""

    tokens: tuple[int, ...]


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


Request = Score | Generate


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """`logprobs[i]` is log P(tokens[i + 1] | tokens[: i + 1]) in nats."""

    logprobs: Bits


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The new tokens (with the end token, if it came) and their log-probabilities before temperature and top-k."""

    tokens: tuple[int, ...]
    logprobs: Bits
    reason: Literal["length", "end"]


Result = ScoreResult | GenerateResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one request ended. Times are what the engine's clock said, by default seconds since 1970."""

    handle: int
    state: Literal["finished", "failed", "cancelled"]
    result: Result | None
    error: EngineError | None
    queued_at: float
    started_at: float | None  # None: never admitted
    finished_at: float
    steps: int  # steps that computed something for it
    fingerprint: str = ""
    batch_invariant: bool = False
