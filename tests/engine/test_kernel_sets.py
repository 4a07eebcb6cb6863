"""Two sets of kernels, one engine: which one ran is chosen by one setting, stands in the fingerprint, and shows in no number."""

from __future__ import annotations

import dataclasses
import logging
import random
import sys
from pathlib import Path
from typing import get_args

import pytest
import torch

from engine import loading
from engine.config import EngineConfig, Kernels
from engine.engine import Engine
from engine.errors import ConfigRefused, DeploymentMismatch
from engine.model import Model
from engine.request import Score, ScoreResult
from engine.runner import Runner
from kernels import choice, compiler, native, reference
from kernels.compiler import Level
from kernels.errors import KernelsUnavailable
from tests.engine.checkpoints import Shape, family, write_checkpoint
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, bits, drive, mixed_requests

SMALL = EngineConfig(blocks=96, self_test=False)
TOLERANCE = 1e-4  # of a log-probability: four layers of float32 in two orders of addition
SHAPES = [
    Shape(),
    Shape(tied=True, kv_heads=1, seed=1),
    Shape(kv_heads=4, head_dim=20, seed=2),
    Shape(window=40, seed=3),
    Shape(head_norms=True),
    Shape(head_norms=True, biases="all", window=40, whole_layers=2, seed=4),
]
TOKENS = tuple(random.Random(4).choices(range(11), k=300))


def load(folder: Path, kernels: Kernels, **settings: object) -> Engine:
    return loading.load(folder, config=dataclasses.replace(SMALL, kernels=kernels, **settings))


def load_native(folder: Path, **settings: object) -> Engine:
    """Pinned to the compiled kernels; skips where they cannot be had."""
    try:
        compiler.library("avx2")
    except KernelsUnavailable as error:
        pytest.skip(str(error))
    return load(folder, "native", **settings)


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without g++ on which nothing was built."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiler, "_ROOT", tmp_path)
    native.load.cache_clear()


def logprobs(runner: Runner) -> torch.Tensor:
    result = drive(CONFIG, runner.run, [Arrival(0, Score(TOKENS))])[0].result
    assert isinstance(result, ScoreResult)
    return torch.tensor(result.logprobs)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{family(shape)}-{shape.seed}")
def test_the_compiled_kernels_score_as_the_reference_does(tmp_path: Path, shape: Shape) -> None:
    folder = write_checkpoint(tmp_path, shape)
    fast, plain = (logprobs(Runner(model(folder, kernels), CONFIG)) for kernels in ("native", "reference"))
    assert 0.0 < (fast - plain).abs().max() < TOLERANCE


def test_with_compiled_kernels_no_reference_kernel_runs(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, called, call = Runner(model(checkpoint, "native"), CONFIG), set(), native.Library.call
    for name in ("paged_attention", "rms_norm", "silu_mul", "rotary", "write_kv", "log_probabilities"):
        monkeypatch.delattr(reference, name)
    monkeypatch.setattr(native.Library, "call", lambda library, name, *rest: called.add(name) or call(library, name, *rest))
    assert logprobs(runner).isfinite().all()
    assert called - {"advise"} == {"project", "attend", "finish", "rms_norm", "linear", "normalisers"}


def test_with_reference_kernels_no_compiled_kernel_runs(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(native.Library, "call")
    assert logprobs(Runner(model(checkpoint), CONFIG)).isfinite().all()


def test_threads_and_instruction_sets_change_no_bit_of_the_compiled_kernels(checkpoint: Path) -> None:
    found = set()
    for threads, level in ((1, "used"), (2, "used"), (3, "avx2")):
        config = dataclasses.replace(CONFIG, threads=threads)
        torch.set_num_threads(threads)
        level = torch.backends.cpu.get_cpu_capability().lower() if level == "used" else level
        try:
            runner = Runner(Model(checkpoint, CONFIG.block_size, kernels="native", level=level), config)
        except KernelsUnavailable as error:
            pytest.skip(str(error))
        outcomes = drive(config, runner.run, [Arrival(i, request) for i, request in enumerate(mixed_requests())])
        found.add(tuple(bits(outcomes[handle]) for handle in sorted(outcomes)))
    torch.set_num_threads(CONFIG.threads)
    assert len(found) == 1


def test_the_fingerprint_says_which_kernels_ran_and_not_where_they_lie(checkpoint: Path) -> None:
    plain, fast = load(checkpoint, "reference"), load_native(checkpoint)
    assert plain.deployment.kernel_set.startswith("plain-1,")
    assert fast.deployment.kernel_set.startswith("native-2,")
    assert all(word in fast.deployment.kernel_set for word in (fast.deployment.isa, "-ffp-contract=off"))
    assert "/" not in fast.deployment.kernel_set.partition(",AVX")[0].rpartition(",")[0]
    assert plain.fingerprint != fast.fingerprint


def test_instruction_sets_have_names_of_their_own() -> None:
    assert len({compiler.flags(level) for level in get_args(Level)}) == len(get_args(Level))


def test_auto_takes_the_compiled_kernels_where_they_can_be_had(checkpoint: Path) -> None:
    assert load_native(checkpoint).fingerprint == load(checkpoint, "auto").fingerprint


def test_a_compiled_engine_proves_itself(checkpoint: Path) -> None:
    assert load_native(checkpoint, self_test=True).batch_invariant


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_auto_takes_numba_and_says_why(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="kernels"):
        engine = load(checkpoint, "auto")
    assert engine.fingerprint == load(checkpoint, "numba").fingerprint
    assert engine.deployment.kernel_set.startswith("numba-1,fp32,numba=")
    assert "there is no g++ on the path" in caplog.text


@pytest.mark.usefixtures("no_compiler")
def test_without_compiler_and_numba_auto_takes_the_reference(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kernels.numba_set", None)  # importing it raises ImportError
    monkeypatch.delattr("kernels.numba_set", raising=False)
    assert load(checkpoint, "auto").deployment.kernel_set.startswith("plain-1,")
    with pytest.raises(DeploymentMismatch, match="pinned to the numba kernels: numba cannot be imported"):
        load(checkpoint, "numba")


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_a_pin_to_the_compiled_kernels_is_refused(checkpoint: Path) -> None:
    with pytest.raises(DeploymentMismatch, match="pinned to the native kernels: there is no g"):
        load(checkpoint, "native")


def test_compiled_kernels_that_disagree_with_the_reference_are_not_taken(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_native(checkpoint)
    monkeypatch.setitem(choice.TOLERANCE, "fp32", 1e-12)
    assert load(checkpoint, "auto").deployment.kernel_set.startswith("plain-1,")
    with pytest.raises(DeploymentMismatch, match="differ from the reference"):
        load(checkpoint, "native")


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(ConfigRefused, match="kernels is auto, reference, native or numba"):
        EngineConfig(kernels="fast")  # type: ignore[arg-type]
