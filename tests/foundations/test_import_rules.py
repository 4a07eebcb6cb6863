"""The import contracts bite: on a copy of the sources, every one of them reports the module that breaks it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "from importlinter.cli import lint_imports_command; lint_imports_command()"
# one offence a contract, by the contract's name
OFFENCES = {
    "Facts go down by call: each part knows only what stands below it": ("platform/foundation/offence.py", "import orders.models"),
    "The engine stands on its kernels": ("kernels/offence.py", "import engine.loop"),
    "Engine and kernels know nothing of the platform": ("engine/offence.py", "import django"),
    "The supervisor starts processes and imports none of them": ("platform/supervisor/offence.py", "import config.urls"),
    "Only the host talks to the engine": ("platform/orders/offence.py", "import engine"),
    "Only the engine talks to its kernels": ("platform/dashboard/offence.py", "import kernels"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says about the sources with all offences in them."""
    copy = tmp_path_factory.mktemp("sources")
    for part in ("platform", "engine", "kernels"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for path, line in OFFENCES.values():
        (copy / path).write_text(f"{line}\n")
    environment = os.environ | {"PYTHONPATH": f"platform{os.pathsep}."}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_every_contract_has_its_offence() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["name"] for contract in contracts} == set(OFFENCES)


@pytest.mark.parametrize("contract", OFFENCES)
def test_a_contract_reports_the_module_that_breaks_it(report: str, contract: str) -> None:
    said = " ".join(report.split())
    assert f"{contract} BROKEN" in said
    path, _ = OFFENCES[contract]
    module = re.sub(r"^platform/|\.py$", "", path).replace("/", ".")
    assert f"{module} ->" in said
