"""Who imports the engine, and who does not load torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import ROOT

MODULES = ["models", "tasks", "selectors", "tickets", "cancelling", "outcomes", "sweeper"]


@pytest.mark.parametrize("module", MODULES)
def test_torch_and_the_engine_are_not_loaded_by(module: str) -> None:
    code = f"import django, sys; django.setup(); import engine_queue.{module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert {"torch", "engine"}.isdisjoint(loaded)


def test_only_the_host_imports_the_engine() -> None:
    lines = {path.name for path in Path(ROOT / "platform").rglob("*.py") for line in path.read_text().splitlines()
             if line.startswith(("import engine\n", "from engine ", "from engine.")) or line == "import engine"}  # fmt: skip
    assert lines == {"host.py"}
