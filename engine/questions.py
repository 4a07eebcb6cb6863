"""What is asked of plain sequences: a score on either strand or both, a continuation, an embedding. To requests, and back.

Both steps are pure functions of the sequence, the settings and the tokenizer, so that the same question has the same requests in
any company, and with the bit contract the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from engine.alternates import is_ambiguous, reverse_complement
from engine.errors import InvalidRequest
from engine.plain_sequences import combine_sequence, plan_sequence
from engine.protocols import AMBIGUOUS, TRIMMED, UNKNOWN, SequencePlan
from engine.request import Embed, EmbedResult, Generate, GenerateResult, Request, Result, Sampling, ScoreResult
from engine.tokenizers.interface import Tokenizer
from engine.tokenizers.prompts import prompt

STRANDS = {"forward": ("forward",), "reverse": ("reverse",), "both": ("forward", "reverse")}


@dataclass(frozen=True, slots=True)
class Reading:
    """A sequence read on one strand. Scored token i covers [starts[i], starts[i + 1]), counted along that strand from 0."""

    strand: str
    plan: SequencePlan
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """The requests of one sequence of a question, and what is needed to read their results."""

    kind: str  # score | continue | embed
    requests: tuple[Request, ...]
    flags: tuple[str, ...]
    tokenizer: Tokenizer
    readings: tuple[Reading, ...] = ()  # of a score
    bases: int = 0  # of a continuation: as many are given back at most


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one sequence. `body` holds plain values: log-probabilities in nats, places in bases from 0."""

    body: dict[str, Any]
    tokens: int  # computed or generated
    total: float | None = None  # of a score, in nats; of both strands their mean
    bases: int | None = None  # of a score: whose probability `total` holds, on one strand


def plan_question(
    kind: str, asked: Mapping[str, Any], sequence: str, tokenizer: Tokenizer, *, context: int, seed: int
) -> QuestionPlan:
    """The requests for one sequence.

    `asked` holds, for a score: strand; for a continuation: length (bases), temperature, top_k, samples; for an embedding: pooling.
    Raises `RequestRefused` for what this model cannot answer.
    """
    if kind == "score":
        return _scored(STRANDS[asked["strand"]], sequence, tokenizer, context)
    given = prompt(sequence, tokenizer)
    if not given.tokens:
        raise InvalidRequest(f"{len(sequence)} bases fill no token of this model")
    lost = {TRIMMED: given.trimmed, UNKNOWN: given.unknown, AMBIGUOUS: is_ambiguous(sequence.upper())}
    flags = tuple(sorted(flag for flag, there in lost.items() if there))
    if kind == "embed":
        return QuestionPlan("embed", (Embed(given.tokens, asked["pooling"]),), flags, tokenizer)
    bases, width = int(asked["length"]), tokenizer.width or 1  # a token of another tokenizer holds a base at least
    samplings = [Sampling(asked["temperature"], asked["top_k"], seed, number) for number in range(asked["samples"])]
    limit = math.ceil(bases / width)
    requests = tuple(Generate(given.tokens, limit, sampling, tokenizer.eos) for sampling in samplings)
    return QuestionPlan("continue", requests, flags, tokenizer, bases=bases)


def combine_question(plan: QuestionPlan, results: Sequence[Result]) -> Answer:
    """The answer, from the results of its requests in their order."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    if plan.kind == "score":
        return _score_answer(plan, [cast(ScoreResult, result) for result in results])
    if plan.kind == "embed":
        (embedded,) = (cast(EmbedResult, result) for result in results)
        return Answer({"positions": embedded.positions, "vector": list(embedded.vector)}, embedded.positions)
    generated = [cast(GenerateResult, result) for result in results]
    samples = [_sample(one, plan.bases, plan.tokenizer) for one in generated]
    return Answer({"samples": samples}, sum(len(one.tokens) for one in generated))


def _scored(strands: Sequence[str], sequence: str, tokenizer: Tokenizer, context: int) -> QuestionPlan:
    readings = tuple(_reading(strand, sequence, tokenizer, context) for strand in strands)
    flags = sorted({flag for reading in readings for flag in reading.plan.flags})
    requests = tuple(one for reading in readings for one in reading.plan.requests)
    return QuestionPlan("score", requests, tuple(flags), tokenizer, readings)


def _reading(strand: str, sequence: str, tokenizer: Tokenizer, context: int) -> Reading:
    read = sequence if strand == "forward" else reverse_complement(sequence)
    plan = plan_sequence(read, tokenizer, context=context)
    over = len(read) % (tokenizer.width or 1)
    starts = tokenizer.encode(read[over:]).starts
    return Reading(strand, plan, tuple(over + start for start in starts[0 if tokenizer.before else 1 :]))


def _score_answer(plan: QuestionPlan, results: Sequence[ScoreResult]) -> Answer:
    strands: list[dict[str, Any]] = []
    rest = list(results)
    for reading in plan.readings:
        own, rest = rest[: len(reading.plan.requests)], rest[len(reading.plan.requests) :]
        score, passed = combine_sequence(reading.plan, own), reading.plan.passed
        logprobs = [value for result, skipped in zip(own, passed, strict=True) for value in result.logprobs[skipped:]]
        strands.append(
            {
                "strand": reading.strand, "log_likelihood": score.total, "per_base": score.mean, "bases": score.bases,
                "tokens": score.tokens, "starts": list(reading.starts), "log_probabilities": logprobs,
            }
        )  # fmt: skip
    total = math.fsum(strand["log_likelihood"] for strand in strands) / len(strands)
    return Answer({"strands": strands}, sum(strand["tokens"] for strand in strands), total, strands[0]["bases"])


def _sample(result: GenerateResult, bases: int, tokenizer: Tokenizer) -> dict[str, Any]:
    """One continuation. A token that stands for no base, other than the end, is counted as silent."""
    silent = sum(token != tokenizer.eos and not tokenizer.decode((token,)) for token in result.tokens)
    return {
        "bases": tokenizer.decode(result.tokens)[:bases], "tokens": len(result.tokens), "silent": silent, "ended": result.reason,
        "log_probabilities": list(result.logprobs),
    }  # fmt: skip
