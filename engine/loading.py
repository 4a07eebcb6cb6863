"""From a model folder to a running engine. Imports torch only when called, after the instruction set was pinned."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine import isa
from engine.batch import Batch, RowOutput
from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.engine import Engine, Runs
from engine.errors import DeploymentMismatch, ModelRefused
from engine.fingerprint import Deployment, digest
from engine.freezing import FreezingScheduler
from engine.limits import Limits
from engine.scheduler import Scheduler
from engine.static import StaticScheduler
from engine.swap.content import Outside
from engine.swap.cost import Costs
from engine.swap.tier import FileTier
from engine.tokenizers import choosing, files
from engine.version import VERSION

if TYPE_CHECKING:
    from engine.runner import Runner
    from engine.swap.arena import Arena


def load(folder: Path, *, config: EngineConfig, clock: Callable[[], float] = time.time) -> Engine:
    """Read a model folder and prove what the engine will claim of it.

    Raises ModelRefused for a folder it cannot run exactly and DeploymentMismatch where the pinned instruction set or golden
    bits cannot be had. The calling thread's number of torch threads is set; whoever steps the engine must keep it.
    """
    if not folder.is_dir():
        raise ModelRefused(f"there is no model folder {folder}")
    isa.pin(config.isa)
    import torch

    from engine.model import Model
    from engine.runner import Runner
    from engine.weights import weight_files
    from kernels.errors import KernelsUnavailable

    torch.set_num_threads(config.threads)
    used = torch.backends.cpu.get_cpu_capability().lower()
    isa.verify(config.isa, used)
    tokenizer = choosing.from_folder(folder)
    try:
        model = Model(folder, config.block_size, kernels=config.kernels, level=used, precision=config.precision)
    except KernelsUnavailable as error:
        raise DeploymentMismatch(f"the deployment is pinned to the {config.kernels} kernels: {error}") from error
    kernel_set = f"{model.kernels.name},{isa.library_mode()}"
    deployment = _deployment(folder, weight_files(folder), config, kernel_set, used)
    if tokenizer.size > model.config.vocabulary:
        raise ModelRefused(
            f"the tokenizer has ids up to {tokenizer.size - 1} and the model a vocabulary of {model.config.vocabulary}"
        )
    known = model.config
    limits = Limits(known.vocabulary, known.context, deployment.fingerprint, window=known.window, layers=model.layers)
    runner = Runner(model, config)
    costs = Costs(runner.arena.block_bytes, config.swap_bandwidth, config.recompute_rate)
    runner.arena.tell = costs.copied
    invariant, golden = _proven(_Timed(runner, costs), config, limits)
    limits = dataclasses.replace(limits, batch_invariant=invariant)
    files = _files(config, runner.arena, deployment.fingerprint)
    scheduler = _scheduler(config, limits, clock, Outside(config.arena_blocks, costs.block_bytes, files, costs))
    return Engine(scheduler, runner, deployment, tokenizer, batch_invariant=invariant, golden=golden, clock=clock, files=files)


class _Timed:
    """A runner whose steps tell what they cost."""

    def __init__(self, runner: Runner, costs: Costs) -> None:
        self._runner, self._costs = runner, costs

    def run(self, batch: Batch) -> list[RowOutput] | None:
        began = time.perf_counter()
        outputs = self._runner.run(batch)
        if outputs is not None and not batch.resumes:
            self._costs.computed(batch.tokens, time.perf_counter() - began)
        return outputs


def _proven(runner: Runs, config: EngineConfig, limits: Limits) -> tuple[bool, str]:
    """Whether bits are independent of the batch here, and their golden value; nothing is claimed where nothing is tried."""
    from engine import selftest

    invariant, golden = selftest.run(runner, config, limits) if config.self_test else (False, "")
    if config.expected_golden and golden != config.expected_golden:
        raise DeploymentMismatch(f"the golden bits here are {golden[:12]}…, pinned are {config.expected_golden[:12]}…")
    return invariant, golden


def _scheduler(config: EngineConfig, limits: Limits, clock: Callable[[], float], outside: Outside) -> Scheduler:
    kind = StaticScheduler if config.mode == "static" else FreezingScheduler
    return kind(config, BlockPool(config.blocks), limits, clock, outside)


def _files(config: EngineConfig, arena: Arena, fingerprint: str) -> FileTier | None:
    if not config.swap_folder or not config.arena_blocks:
        return None
    cap, folder = config.swap_file_bytes, Path(config.swap_folder)
    return FileTier(folder, arena.memory, fingerprint, cap=cap, encrypted=config.swap_encrypted)


def _deployment(folder: Path, weights: list[Path], config: EngineConfig, kernel_set: str, used: str) -> Deployment:
    return Deployment(
        model=folder.name,
        backend="cpu-plain",
        kernel_set=kernel_set,
        precision=config.precision,
        isa=used,
        threads=config.threads,
        weights_sha256=digest(weights),
        config_sha256=digest([folder / "config.json"]),
        tokenizer_sha256=digest(files.present(folder)),
        engine_version=VERSION,
    )
