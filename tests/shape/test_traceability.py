"""docs/traceability.md names the tests that hold each promise; each of them exists, and no promise stands there without one."""

import ast
import functools
import re

from tests.services import ROOT

PAGE = (ROOT / "docs" / "traceability.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("* ")]
NAMED = re.compile(r"`([\w/]+\.py)?::(test_\w+)`")


@functools.cache
def names_in(path: str) -> frozenset[str]:
    file = ROOT / "tests" / path
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if file.is_file() else ()
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def named(row: str) -> list[tuple[str, str]]:
    """File and test; a test without a file is in the file named before it."""
    found, path = [], ""
    for file, test in NAMED.findall(row):
        path = file or path
        found.append((path, test))
    return found


def test_every_test_that_is_named_exists() -> None:
    wrong = [f"{path}::{test}" for row in ROWS for path, test in named(row) if test not in names_in(path)]
    assert len(ROWS) > 100 and wrong == []


def test_every_promise_names_a_test() -> None:
    assert [row for row in ROWS if not named(row)] == []
