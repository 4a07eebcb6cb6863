"""A model small enough to run a workload in a test."""

from pathlib import Path

import pytest

from benchmarks import models
from tests.benchmarks.tiny import TINY


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "tiny"
    models.write(TINY, place)
    return place
