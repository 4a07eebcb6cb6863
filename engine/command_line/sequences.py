"""`score`, `generate`, `next` and `embed`: sequences given as text or as a FASTA file."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from engine.command_line import fasta, running, source
from engine.command_line.options import refuse_without_vcf
from engine.engine import Engine
from engine.errors import InvalidRequest, RequestRefused
from engine.request import Embed, Generate, NextToken, Sampling
from engine.tokenizers.prompts import Prompt, prompt
from engine.windows import combine_sequence, plan_sequence

Named = list[tuple[str, str]]
Rows = Iterator[dict[str, Any]]
Made = TypeVar("Made")


def read(options: argparse.Namespace) -> Named:
    """Names and sequences; InvalidRequest for what holds none."""
    refuse_without_vcf(options)
    if options.fasta is not None:
        with source.opened(options.fasta) as file:
            return list(fasta.records(file.lines()))
    if not options.sequence.isalpha():
        raise InvalidRequest("the sequence must hold letters only, and at least one")
    return [("sequence", options.sequence)]


def score(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """Sum and means, per base and per token, of the log-probabilities of each sequence, and the bases that were lost."""
    window = options.window
    planned = functools.partial(plan_sequence, tokenizer=engine.tokenizer, context=engine.context, window=window)
    plans = [_of(name, functools.partial(planned, sequence)) for name, sequence in named]
    found = running.results(engine, (request for plan in plans for request in plan.requests), options.progress)
    for (name, _), plan in zip(named, plans, strict=True):
        one = combine_sequence(plan, [found[request] for request in plan.requests])
        yield {
            "name": name,
            "bases": one.bases,
            "tokens": one.tokens,
            "log_likelihood": one.total,
            "mean": one.mean,
            "mean_per_token": one.per_token,
            "trimmed": one.trimmed,
            "unknown": len(one.unknown),
            "window": one.window,
            "flags": one.flags,
            **running.origin(engine),
        }


def generate(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """Each sequence continued. Tokens that stand for no base, such as those beyond the tokenizer's, are counted as silent."""
    tokenizer = engine.tokenizer
    sampling = Sampling(options.temperature, options.top_k, options.seed)
    prompts = _prompts(engine, named)
    requests = [Generate(one.tokens, options.tokens, sampling, tokenizer.eos) for one in prompts]
    found = running.results(engine, requests, options.progress)
    for (name, _), one, request in zip(named, prompts, requests, strict=True):
        result = found[request]
        silent = sum(token != tokenizer.eos and not tokenizer.decode((token,)) for token in result.tokens)
        row = {"name": name, "bases": tokenizer.decode(result.tokens), "tokens": len(result.tokens), "silent_tokens": silent}
        row |= {"reason": result.reason}
        yield row | _lost(one) | running.origin(engine)


def following(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """A row for every token of the vocabulary; tokens that are no base have no symbol."""
    prompts = _prompts(engine, named)
    requests = [NextToken(one.tokens) for one in prompts]
    found = running.results(engine, requests, options.progress)
    for (name, _), one, request in zip(named, prompts, requests, strict=True):
        for token, value in enumerate(found[request].logprobs):
            row = {"name": name, "token": token, "symbol": engine.tokenizer.decode((token,)), "log_probability": value}
            yield row | _lost(one) | running.origin(engine)


def embed(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """The pooled hidden state of each sequence, with what stands before it."""
    prompts = _prompts(engine, named)
    requests = [Embed(one.tokens, options.pooling) for one in prompts]
    found = running.results(engine, requests, options.progress)
    for (name, _), one, request in zip(named, prompts, requests, strict=True):
        result = found[request]
        row = {"name": name, "pooling": request.pooling, "positions": result.positions, "vector": result.vector}
        yield row | _lost(one) | running.origin(engine)


def _prompts(engine: Engine, named: Named) -> list[Prompt]:
    """The tokens to go on from; InvalidRequest for a sequence that fills none, where nothing else stands before it."""
    found = [_of(name, functools.partial(prompt, sequence, engine.tokenizer)) for name, sequence in named]
    for (name, sequence), one in zip(named, found, strict=True):
        if not one.tokens:
            raise InvalidRequest(f"the {len(sequence)} bases of {name} fill no token of this model")
    return found


def _lost(one: Prompt) -> dict[str, Any]:
    return {"trimmed": one.trimmed, "unknown": len(one.unknown)}


def _of(name: str, make: Callable[[], Made]) -> Made:
    """What is made of one sequence; where that is refused, with its name: a file has many."""
    try:
        return make()
    except RequestRefused as error:
        raise InvalidRequest(f"{name}: {error}") from error
