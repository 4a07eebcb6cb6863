"""`python -m engine score|generate`: the engine alone, for people. Bad input is one clear line and exit status 2."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import fasta
from engine.config import LARGEST_THREADS, EngineConfig
from engine.engine import Engine
from engine.errors import EngineError, InvalidRequest
from engine.loading import load
from engine.request import Generate, GenerateResult, Outcome, Priority, Request, Sampling, ScoreResult
from engine.windows import combine_sequence, plan_sequence

_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = _parser().parse_args(arguments)
    try:
        config = EngineConfig(threads=options.threads, isa=options.isa, mode=options.mode, kernels=options.kernels)
        named = list(_sequences(options))
        engine = load(options.model, config=config)
        rows = _score(engine, named) if options.command == "score" else _generate(engine, named, options)
        _write(rows, as_json=options.json)
    except (EngineError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"engine: {error}\n")
        return _BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    score = commands.add_parser("score", help="log-likelihood of sequences")
    generate = commands.add_parser("generate", help="continue sequences")
    for command in (score, generate):
        command.add_argument("--model", type=Path, required=True, help="folder with config.json, safetensors and vocab.json")
        source = command.add_mutually_exclusive_group(required=True)
        source.add_argument("--sequence", help="bases")
        source.add_argument("--fasta", type=Path, help="FASTA file")
        command.add_argument("--json", action="store_true", help="one JSON array instead of tab-separated lines")
        command.add_argument("--threads", type=int, default=EngineConfig().threads, help=f"1 to {LARGEST_THREADS}")
        command.add_argument("--isa", choices=("auto", "avx2", "avx512"), default="auto")
        command.add_argument(
            "--kernels", choices=("auto", "reference", "native"), default="auto", help="native: compiled or refused"
        )
        command.add_argument("--mode", choices=("continuous", "static"), default="continuous")
    generate.add_argument("--tokens", type=int, default=64, help="tokens to generate at most")
    generate.add_argument("--temperature", type=float, default=0.0, help="0: greedy")
    generate.add_argument("--top-k", type=int, default=0, help="0: the whole vocabulary")
    generate.add_argument("--seed", type=int, default=0)
    return parser


def _sequences(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    if options.fasta is None:
        if not options.sequence.isalpha():
            raise InvalidRequest("the sequence must hold letters only, and at least one")
        yield "sequence", options.sequence
    else:
        with options.fasta.open(encoding="utf-8") as lines:
            yield from fasta.records(lines)


def _run(engine: Engine, requests: Sequence[Request]) -> list[Outcome]:
    """All requests to their end; the first failure is raised, because a table with holes is no answer."""
    for handle, request in enumerate(requests):
        engine.submit(handle, request, Priority.ROUTINE)
    outcomes: dict[int, Outcome] = {}
    while engine.scheduler.has_work:
        outcomes.update((outcome.handle, outcome) for outcome in engine.step())
    for outcome in outcomes.values():
        if outcome.error is not None:
            raise outcome.error
    return [outcomes[handle] for handle in range(len(requests))]


def _score(engine: Engine, named: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    plans = [plan_sequence(sequence, engine.tokenizer, context=engine.context) for _, sequence in named]
    outcomes = _run(engine, [plan.requests[0] for plan in plans])
    for (name, _), plan, outcome in zip(named, plans, outcomes, strict=True):
        if isinstance(outcome.result, ScoreResult):
            score = combine_sequence(plan, [outcome.result])
            yield {
                "name": name,
                "bases": score.bases,
                "log_likelihood": score.total,
                "mean": score.mean,
                "unknown": len(score.unknown),
                **_origin(engine),
            }


def _generate(engine: Engine, named: list[tuple[str, str]], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    tokenizer = engine.tokenizer
    sampling = Sampling(options.temperature, options.top_k, options.seed)
    prompts = [(tokenizer.bos, *tokenizer.encode(sequence).ids) for _, sequence in named]
    outcomes = _run(engine, [Generate(prompt, options.tokens, sampling, tokenizer.eos) for prompt in prompts])
    for (name, _), outcome in zip(named, outcomes, strict=True):
        if isinstance(outcome.result, GenerateResult):
            result = outcome.result
            yield {"name": name, "bases": tokenizer.decode(result.tokens), "reason": result.reason, **_origin(engine)}


def _origin(engine: Engine) -> dict[str, Any]:
    return {"batch_invariant": engine.batch_invariant, "fingerprint": engine.fingerprint}


def _write(rows: Iterator[dict[str, Any]], *, as_json: bool) -> None:
    table = list(rows)
    if as_json:
        sys.stdout.write(json.dumps(table, indent=1) + "\n")
        return
    lines = ["\t".join(table[0]), *("\t".join(str(value) for value in row.values()) for row in table)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
