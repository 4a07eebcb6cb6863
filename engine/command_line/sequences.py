"""`score`, `generate`, `next` and `embed`: sequences given as text or as a FASTA file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from engine.command_line import fasta, running, source
from engine.command_line.options import refuse_without_vcf
from engine.engine import Engine
from engine.errors import InvalidRequest
from engine.request import Embed, Generate, NextToken, Sampling
from engine.windows import combine_sequence, plan_sequence

Named = list[tuple[str, str]]
Rows = Iterator[dict[str, Any]]


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
    """Sum and mean of the log-probabilities of each sequence."""
    window = options.window
    plans = [plan_sequence(sequence, engine.tokenizer, context=engine.context, window=window) for _, sequence in named]
    found = running.results(engine, (request for plan in plans for request in plan.requests), options.progress)
    for (name, _), plan in zip(named, plans, strict=True):
        one = combine_sequence(plan, [found[request] for request in plan.requests])
        yield {
            "name": name,
            "bases": one.bases,
            "log_likelihood": one.total,
            "mean": one.mean,
            "unknown": len(one.unknown),
            "window": one.window,
            "flags": one.flags,
            **running.origin(engine),
        }


def generate(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """Each sequence continued."""
    tokenizer = engine.tokenizer
    sampling = Sampling(options.temperature, options.top_k, options.seed)
    requests = [Generate(_after_bos(engine, sequence), options.tokens, sampling, tokenizer.eos) for _, sequence in named]
    found = running.results(engine, requests, options.progress)
    for (name, _), request in zip(named, requests, strict=True):
        result = found[request]
        yield {"name": name, "bases": tokenizer.decode(result.tokens), "reason": result.reason, **running.origin(engine)}


def following(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """A row for every token of the vocabulary; tokens that are no base have no symbol."""
    requests = [NextToken(_after_bos(engine, sequence)) for _, sequence in named]
    found = running.results(engine, requests, options.progress)
    for (name, _), request in zip(named, requests, strict=True):
        for token, value in enumerate(found[request].logprobs):
            symbol = engine.tokenizer.decode((token,))
            yield {"name": name, "token": token, "symbol": symbol, "log_probability": value, **running.origin(engine)}


def embed(engine: Engine, named: Named, options: argparse.Namespace) -> Rows:
    """The pooled hidden state of each sequence, bos included."""
    requests = [Embed(_after_bos(engine, sequence), options.pooling) for _, sequence in named]
    found = running.results(engine, requests, options.progress)
    for (name, _), request in zip(named, requests, strict=True):
        result = found[request]
        yield {
            "name": name,
            "pooling": request.pooling,
            "positions": result.positions,
            "vector": result.vector,
            **running.origin(engine),
        }


def _after_bos(engine: Engine, sequence: str) -> tuple[int, ...]:
    return (*engine.tokenizer.before, *engine.tokenizer.encode(sequence).ids)
