"""Model folders for tests: one small random checkpoint, copied where it is to be changed."""

import shutil
from pathlib import Path

import pytest

from tests.engine.checkpoints import Shape, write_checkpoint

TINY = Shape(hidden=32, layers=1, heads=2, kv_heads=1, head_dim=16, intermediate=48, context=128)


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written once a session."""
    folder = write_checkpoint(tmp_path_factory.mktemp("original") / "tiny", TINY)
    (folder / "README.md").write_text("# tiny\nRandom weights.\n")
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A folder of the test's own, outside MODELS_DIR."""
    return Path(shutil.copytree(original, tmp_path / "downloads" / "tiny"))
