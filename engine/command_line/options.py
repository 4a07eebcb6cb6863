"""The options of every command, and what they say about engine and protocol."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from engine.command_line import tracing
from engine.config import LARGEST_THREADS, EngineConfig
from engine.errors import InvalidRequest
from engine.protocols import Kind, Protocol, Strand

_DESCRIPTION = "The engine alone, for people. Bad input is one clear line and exit status 2."
_SCORE = """Log-likelihood of sequences, as a table; or with --vcf what every ALT of a VCF changes against a reference, as a VCF
with every record of the first, in order. Exit status 1: written, but something needs a look, and standard error says what."""
_WINDOW = 512  # bases, of variants
_SCANNED = 256  # bases, of a region scan, whose contexts grow to twice as many
_GRID = 64  # bases, or a quarter of the window
_FASTA = "FASTA file, plain or bgzip; an index beside it saves time"
_REGION = "NAME:START-END, counted from 1, both ends included"


def parser() -> argparse.ArgumentParser:
    """A sub-command for each thing that can be asked."""
    root = argparse.ArgumentParser(prog="python -m engine", description=_DESCRIPTION)
    commands = root.add_subparsers(dest="command", required=True)
    score = commands.add_parser("score", help="log-likelihood of sequences, or of the alleles of a VCF", description=_SCORE)
    source = _sequences(score)
    source.add_argument("--vcf", type=Path, help="VCF file, plain, gzip or bgzip; -: standard input")
    _add_variants(score)
    generate = commands.add_parser("generate", help="continue sequences")
    generate.add_argument("--tokens", type=int, default=64, help="tokens to generate at most")
    generate.add_argument("--temperature", type=float, default=0.0, help="0: greedy")
    generate.add_argument("--top-k", type=int, default=0, help="0: the whole vocabulary")
    generate.add_argument("--seed", type=int, default=0)
    following = commands.add_parser("next", help="log-probability of every token after a left context")
    embed = commands.add_parser("embed", help="hidden states, pooled over the sequence")
    embed.add_argument("--pooling", choices=("mean", "last"), default="mean")
    scan = commands.add_parser("scan", help="every base in the place of every base of a region")
    scan.add_argument("--region", required=True, help=_REGION)
    scan.add_argument("--reference", type=Path, required=True, help=_FASTA)
    scan.add_argument("--window", type=int, default=_SCANNED, help=f"bases; {_SCANNED} where not given")
    scan.add_argument("--strand", choices=get_args(Strand), default="forward")
    for command in (generate, following, embed):
        _sequences(command)
    tracing.add_options(commands.add_parser("trace", help="play a scenario and show its steps"))
    commands.add_parser("inspect", help="load a folder, prove its bits, score a fixed sequence, and say what it holds")
    for command in commands.choices.values():
        _add_engine(command)
    return root


def _sequences(command: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--sequence", help="bases")
    source.add_argument("--fasta", type=Path, help="FASTA file, plain or gzip; -: standard input")
    return source


def _add_variants(score: argparse.ArgumentParser) -> None:
    score.add_argument(
        "--window",
        type=int,
        help=f"with --vcf in bases, {_WINDOW} where not given, {_SCANNED} for region-scan; for sequences in tokens: without it "
        "those longer than the model's context are refused",
    )
    variants = score.add_argument_group("with --vcf")
    variants.add_argument("--reference", type=Path, help=_FASTA)
    variants.add_argument("--protocol", choices=get_args(Kind), help="centred where not given")
    variants.add_argument(
        "--grid", type=int, help=f"bases, of grid-centred alone; {_GRID} where not given, or a quarter of the window"
    )
    variants.add_argument("--strand", choices=get_args(Strand), help="forward where not given")
    variants.add_argument("--out", type=Path, help="VCF to write, bgzip where it ends in .gz; standard output where not given")


def _add_engine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--model", type=Path, required=True, help="folder with config.json, safetensors and the files of its tokenizer"
    )
    command.add_argument("--json", action="store_true", help="one JSON array instead of tab-separated lines")
    command.add_argument("--threads", type=int, default=EngineConfig().threads, help=f"1 to {LARGEST_THREADS}")
    command.add_argument("--isa", choices=("auto", "avx2", "avx512"), default="auto")
    command.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of weights, keys and values, and products")
    command.add_argument("--kernels", choices=("auto", "reference", "native", "numba"), default="auto", help="default: the fastest")
    command.add_argument("--mode", choices=("continuous", "static"), default="continuous")
    shown = command.add_mutually_exclusive_group()
    shown.add_argument(
        "--progress", dest="progress", action="store_true", default=None, help="tell how far it is, where no terminal is"
    )
    shown.add_argument(
        "--quiet", dest="progress", action="store_false", default=None, help="tell on standard error only what needs a look"
    )


def engine_config(options: argparse.Namespace) -> EngineConfig:
    """ConfigRefused for settings that contradict each other."""
    own = getattr(options, "settings", {})
    named = {name: getattr(options, name) for name in ("threads", "isa", "mode", "precision", "kernels")}
    return EngineConfig(**named, **own)


def protocol(options: argparse.Namespace) -> Protocol:
    """InvalidRequest for settings that contradict each other."""
    kind: Kind = "region-scan" if options.command == "scan" else options.protocol or "centred"
    window = (_SCANNED if kind == "region-scan" else _WINDOW) if options.window is None else options.window
    grid = getattr(options, "grid", None)
    if kind == "grid-centred" and grid is None:
        grid = max(1, min(_GRID, window // 4))
    return Protocol(kind, window, options.strand or "forward", grid)


def refuse_without_vcf(options: argparse.Namespace) -> None:
    """InvalidRequest where sequences are scored with what only a VCF can be scored with."""
    for name in ("reference", "protocol", "grid", "strand", "out"):
        if getattr(options, name, None) is not None:
            raise InvalidRequest(f"--{name} goes with --vcf")
