"""Who imports the engine, and who does not load torch."""

import subprocess
import sys
from pathlib import Path

from tests.services import ROOT

MODULES = ["models", "tasks", "selectors", "tickets", "cancelling", "outcomes", "sweeper"]


IMPORT = """
import django, importlib, sys
django.setup()
for name in sys.argv[1:]:
    importlib.import_module(f"engine_queue.{name}")
    print(name, *sorted({"torch", "engine"} & set(sys.modules)))
"""


def test_torch_and_the_engine_are_loaded_by_none_of_these() -> None:
    command = [sys.executable, "-c", IMPORT, *MODULES]
    assert subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines() == MODULES


def test_only_the_host_imports_the_engine() -> None:
    lines = {path.name for path in Path(ROOT / "platform").rglob("*.py") for line in path.read_text().splitlines()
             if line.startswith(("import engine\n", "from engine ", "from engine.")) or line == "import engine"}  # fmt: skip
    assert lines == {"host.py"}
