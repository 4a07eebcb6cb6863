"""What the Makefile starts exists, and takes the arguments that it is given."""

import re
import shlex
import subprocess
import sys

import pytest

from tests.services import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
VERBS = {"up", "test", "lint", "bench", "gpu-check", "model-card", "manage", "clean", "lock", "help"}
# every `$(PYTHON) -m MODULE ARGUMENTS` of a recipe, by its verb
STARTED = [
    (verb, command)
    for verb, recipe in re.findall(r"^([a-z-]+):[^\n]*\n((?:\t[^\n]*\n)+)", MAKEFILE, re.MULTILINE)
    for command in re.findall(r"\$\(PYTHON\) -m ([^\n]+)", recipe)
]
# programs of ours, whose parsers name a missing argument before one that they do not know
OURS = [command for _, command in STARTED if command.startswith(("models.", "benchmarks."))]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_help_lists_every_verb() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^make ([a-z-]+)", listed, re.MULTILINE)) >= VERBS


@pytest.mark.parametrize("module", sorted({command.split()[0] for _, command in STARTED}))
def test_every_module_that_a_verb_starts_can_be_asked_for_help(module: str) -> None:
    asked = python(module, "--help")
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize("command", OURS)
def test_a_verb_gives_every_argument_that_its_program_needs(command: str) -> None:
    refused = python(*shlex.split(command), "--no-such-option")
    assert refused.returncode == 2
    assert "unrecognized arguments: --no-such-option" in refused.stderr


def test_the_model_card_is_written_by_the_program_that_writes_it() -> None:
    assert ("model-card", "models.training.card") in STARTED
