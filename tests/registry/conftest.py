"""Fixtures of the registry's tests."""

from pathlib import Path
from typing import Any

import pytest

from tests.registry.folders import folder, original

__all__ = ["folder", "models_dir", "original"]


@pytest.fixture
def models_dir(tmp_path: Path, settings: Any) -> Path:
    """An empty MODELS_DIR."""
    path = tmp_path / "models"
    path.mkdir()
    settings.MODELS_DIR = path
    return path
