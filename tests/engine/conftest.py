"""One random checkpoint and one poisoned runner for the whole session: making them costs more than most tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import isa

isa.pin("auto")  # before any test module imports torch

from engine.config import EngineConfig, Kernels, Precision  # noqa: E402
from engine.model import Model  # noqa: E402
from engine.runner import Runner  # noqa: E402
from kernels.errors import KernelsUnavailable  # noqa: E402
from tests.engine.alphabets import SIZE  # noqa: E402
from tests.engine.checkpoints import Shape, write_checkpoint  # noqa: E402
from tests.engine.proofs import proven_once  # noqa: E402
from tests.engine.vcf_cases import Command, write_reference  # noqa: E402
from tests.engine.windows_by_hand import Desk  # noqa: E402

__all__ = ["proven_once"]
CONFIG = EngineConfig(blocks=160, block_size=16, slots=8, token_budget=256, chunk=64, poison_free_blocks=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known where `tests/engine` is named on the command line."""
    parser.addoption("--every-point", action="store_true", help="preempt at every point on the slow kernels too")
    parser.addoption("--forced-preemption", action="store_true", help="preempt lower work in every second step of every engine")
    parser.addoption("--forced-seed", type=int, default=0, help="draw other points to preempt at")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--forced-preemption", default=False):
        from tests.engine import driving, preempting_by_force, preempting_out_of_sight

        preempting_out_of_sight.seed = config.getoption("--forced-seed")
        preempting_by_force.everywhere(driving)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Some files are played a second time, preempted, in every run."""
    from tests.engine import undisturbed

    all_by_force = metafunc.config.getoption("--forced-preemption", default=False)
    if metafunc.definition.path.name in undisturbed.TWICE and not all_by_force:
        metafunc.parametrize("by_force", [False, True], indirect=True, ids=["undisturbed", "preempted"])


@pytest.fixture(autouse=True)  # or it would be left out of what a test asks for
def by_force(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if getattr(request, "param", False):
        from tests.engine import driving, preempting_by_force, undisturbed

        undisturbed.look_away(request.node)
        preempting_by_force.everywhere(driving, monkeypatch.setattr)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.config.getoption("--forced-preemption", default=False):
        from tests.engine import undisturbed

        undisturbed.look_away(item)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("model"), Shape())


@pytest.fixture(scope="session", params=["reference", "native"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """Each set of kernels in turn."""
    return request.param


def model(folder: Path, kernels: Kernels = "reference", precision: Precision = "fp32", threads: int = CONFIG.threads) -> Model:
    """A model on one set of kernels; skips where the compiled ones cannot be had."""
    import torch

    torch.set_num_threads(threads)
    level = torch.backends.cpu.get_cpu_capability().lower()
    try:
        return Model(folder, CONFIG.block_size, kernels=kernels, level=level, precision=precision)
    except KernelsUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def runner(checkpoint: Path, kernels: Kernels) -> Runner:
    return Runner(model(checkpoint, kernels), CONFIG)


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A random model whose vocabulary every tokenizer of `alphabets` can use."""
    folder = write_checkpoint(tmp_path_factory.mktemp("alphabets"), Shape(vocabulary=SIZE, seed=3))
    return Desk(Runner(model(folder), CONFIG).run, CONFIG)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a test of the command line reads and writes lies there."""
    return tmp_path


@pytest.fixture
def command(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """`score --vcf` with the random checkpoint."""
    return Command(checkpoint, write_reference(tmp_path), capsys)
