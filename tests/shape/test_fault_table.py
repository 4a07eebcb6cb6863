"""docs/engine.md names a test for every fault of other engines; each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8").partition("## Faults of other engines")[2].partition("\n## ")[0]
TESTS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "engine").glob("test_*.py")}


def test_every_fault_has_a_test_that_exists() -> None:
    rows = [line.split("|")[2] for line in TABLE.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for row in rows:
        files = re.findall(r"test_\w+\.py", row)
        text = "".join(TESTS[file] for file in files)
        names = re.findall(r"`(?:\w+\.py::)?(test_\w+)`", row)
        assert files, row
        assert all(f"def {name}(" in text for name in names), row
