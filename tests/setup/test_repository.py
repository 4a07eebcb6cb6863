"""Rules about files that no other tool looks at."""

import os
import platform
import re
import subprocess
import sys

import pytest

from tests.services import ROOT

LOCKS = ["requirements.lock", "requirements-dev.lock"]


def lines_of(lock: str) -> list[str]:
    return [line for line in (ROOT / lock).read_text().splitlines() if line and not line.startswith("#")]


def test_platform_is_a_folder_and_no_package() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()


@pytest.mark.parametrize("path", ["platform:.", f"{ROOT / 'platform'}:{ROOT}"])
def test_the_standard_librarys_platform_is_not_hidden(path: str) -> None:
    code = "import platform; print(platform.python_version())"
    outcome = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout.strip() == platform.python_version()


def test_the_readme_shows_the_two_commands_alone_on_a_line() -> None:
    lines = [line.strip() for line in (ROOT / "README.md").read_text().splitlines()]
    assert {"make up", "make test"} <= set(lines)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_holds_exact_public_versions_and_nothing_else(lock: str) -> None:
    assert [line for line in lines_of(lock) if not re.fullmatch(r"[a-z0-9][a-z0-9-]*(\[[a-z,]+\])?==[0-9][0-9a-z.]*", line)] == []


def test_both_lock_files_agree_on_versions() -> None:
    assert set(lines_of(LOCKS[0])) <= set(lines_of(LOCKS[1]))


def test_ci_runs_lint_and_then_the_tests() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert script.index("make lint") < script.index("exec make test")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
