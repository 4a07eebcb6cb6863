"""Views translate and tasks hand on: both are short, because what they call does the work."""

import ast
from collections.abc import Iterator

import pytest

from tests.services import ROOT
from tests.shape.test_budget import Function, functions, length, name, tree

LONGEST_VIEW, LONGEST_TASK = 15, 20
VIEW_FILES = sorted([*(ROOT / "platform").glob("*/views.py"), *(ROOT / "platform").glob("*/views/*.py")])


def tasks() -> Iterator[tuple[str, Function]]:
    for path in sorted((ROOT / "platform").rglob("*.py")):
        for function in functions(path):
            if any("shared_task" in ast.unparse(decorator) for decorator in function.decorator_list):
                yield f"{name(path)}:{function.name}", function


def test_there_are_views_and_tasks_to_measure() -> None:
    assert len(VIEW_FILES) > 5 and len(list(tasks())) > 3


def test_every_function_beside_a_view_is_as_short_as_a_view() -> None:
    found = {f"{name(path)}:{one.name}": length(one) for path in VIEW_FILES for one in functions(path)}
    assert {view: lines for view, lines in found.items() if lines > LONGEST_VIEW} == {}


def test_every_task_is_short() -> None:
    assert {task: length(one) for task, one in tasks() if length(one) > LONGEST_TASK} == {}


@pytest.mark.parametrize("path", VIEW_FILES, ids=name)
def test_no_view_queries_the_database_itself(path: object) -> None:
    reached = {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}  # type: ignore[arg-type]
    assert "objects" not in reached
