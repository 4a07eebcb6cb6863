"""The options of every command, and what they say about engine and protocol."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.command_line import tracing
from engine.config import LARGEST_THREADS, EngineConfig
from engine.protocols import Protocol

_DESCRIPTION = "The engine alone, for people. Bad input is one clear line and exit status 2."
_REGION = "NAME:START-END, counted from 1, both ends included"


def parser() -> argparse.ArgumentParser:
    """A sub-command for each thing that can be asked."""
    root = argparse.ArgumentParser(prog="python -m engine", description=_DESCRIPTION)
    commands = root.add_subparsers(dest="command", required=True)
    score = commands.add_parser("score", help="log-likelihood of sequences")
    score.add_argument(
        "--window", type=int, help="how sequences longer than the model's context are read; without it they are refused"
    )
    generate = commands.add_parser("generate", help="continue sequences")
    generate.add_argument("--tokens", type=int, default=64, help="tokens to generate at most")
    generate.add_argument("--temperature", type=float, default=0.0, help="0: greedy")
    generate.add_argument("--top-k", type=int, default=0, help="0: the whole vocabulary")
    generate.add_argument("--seed", type=int, default=0)
    following = commands.add_parser("next", help="log-probability of every token after a left context")
    embed = commands.add_parser("embed", help="hidden states, pooled over the sequence")
    embed.add_argument("--pooling", choices=("mean", "last"), default="mean")
    variants = commands.add_parser("variants", help="score the alleles of a VCF against a reference")
    variants.add_argument("--vcf", type=Path, required=True, help="VCF file, plain or gzip")
    variants.add_argument("--protocol", choices=("centred", "grid-centred", "right-end"), default="centred")
    variants.add_argument("--grid", type=int, help="bases; of grid-centred alone")
    scan = commands.add_parser("scan", help="every base in the place of every base of a region")
    scan.add_argument("--region", required=True, help=_REGION)
    for command, window in ((variants, 512), (scan, 256)):
        command.add_argument("--reference", type=Path, required=True, help="FASTA file, plain or gzip")
        command.add_argument("--window", type=int, default=window, help=f"bases; {window} where not given")
        command.add_argument("--strand", choices=("forward", "reverse", "average"), default="forward")
    for command in (score, generate, following, embed):
        source = command.add_mutually_exclusive_group(required=True)
        source.add_argument("--sequence", help="bases")
        source.add_argument("--fasta", type=Path, help="FASTA file, plain or gzip")
    tracing.add_options(commands.add_parser("trace", help="run a small mixed workload and show its steps"))
    for command in commands.choices.values():
        _add_engine(command)
    return root


def _add_engine(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", type=Path, required=True, help="folder with config.json, safetensors and vocab.json")
    command.add_argument("--json", action="store_true", help="one JSON array instead of tab-separated lines")
    command.add_argument("--threads", type=int, default=EngineConfig().threads, help=f"1 to {LARGEST_THREADS}")
    command.add_argument("--isa", choices=("auto", "avx2", "avx512"), default="auto")
    command.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of weights, keys and values, and products")
    command.add_argument("--kernels", choices=("auto", "reference", "native", "numba"), default="auto", help="default: the fastest")
    command.add_argument("--mode", choices=("continuous", "static"), default="continuous")


def engine_config(options: argparse.Namespace) -> EngineConfig:
    """ConfigRefused for settings that contradict each other."""
    own = getattr(options, "settings", {})
    named = {name: getattr(options, name) for name in ("threads", "isa", "mode", "precision", "kernels")}
    return EngineConfig(**named, **own)


def protocol(options: argparse.Namespace) -> Protocol:
    """InvalidRequest for settings that contradict each other."""
    if options.command == "scan":
        return Protocol("region-scan", options.window, options.strand)
    return Protocol(options.protocol, options.window, options.strand, options.grid)
