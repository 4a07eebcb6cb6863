"""Whoever follows the pages types commands that exist, with options that they take."""

import importlib.util
import re
import shlex

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from supervisor.__main__ import VERBS
from tests.services import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "docs/operations.md", "docs/models.md", "docs/api.md"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def code(page: str) -> list[str]:
    """Inline code, and the lines of fenced and indented blocks."""
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    indented = re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
    return [*re.findall(r"`([^`\n]+)`", text), *indented, *(line for block in blocks for line in block.splitlines())]


def named(pattern: str, *pages: str) -> list[str]:
    return sorted({found for page in pages for line in code(page) for found in re.findall(pattern, line)})


def managed() -> list[str]:
    """Management commands with their options, written out or given to `make manage`."""
    written, given = named(r"manage\.py ([a-z].*)", *PAGES), named(r"make manage CMD=(.*)", *PAGES)
    return written + [" ".join(shlex.split(line)) for line in given]


@pytest.mark.parametrize("page", PAGES)
def test_every_make_verb_exists(page: str) -> None:
    verbs = named(r"\bmake ([a-z][a-z-]*)", page)
    assert verbs
    assert set(verbs) <= TARGETS


@pytest.mark.parametrize("line", managed())
def test_every_management_command_exists_and_takes_its_options(line: str) -> None:
    name, *options = shlex.split(line)
    load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(options)


@pytest.mark.parametrize("module", named(r"python -m ([\w.]+)", *PAGES))
def test_every_module_that_is_started_exists(module: str) -> None:
    assert importlib.util.find_spec(module)


def test_every_verb_of_the_supervisor_exists() -> None:
    verbs = named(r"python -m supervisor (\w+)", *PAGES)
    assert verbs
    assert set(verbs) <= set(VERBS)


def test_every_service_that_compose_is_asked_to_run_exists() -> None:
    services = named(r"docker compose run --rm (\w+)", "docs/operations.md")
    assert services
    assert set(services) <= set(yaml.safe_load((ROOT / "compose.yaml").read_text())["services"])
