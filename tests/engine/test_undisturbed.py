"""The names in `undisturbed.py` are those of tests, and have a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.engine.undisturbed import LEFT_OUT, OUT_OF_SIGHT, TWICE

HERE = Path(__file__).parent


def functions_of(file: str) -> list[str]:
    return [one.name for one in ast.parse((HERE / file).read_text()).body if isinstance(one, ast.FunctionDef)]


@pytest.mark.parametrize(
    ("file", "why", "names"), [(file, *said) for table in (LEFT_OUT, OUT_OF_SIGHT) for file, said in table.items()]
)
def test_every_name_is_that_of_a_test_and_has_a_reason(file: str, why: str, names: str) -> None:
    assert why.strip() and names.split()
    assert [name for name in names.split() if f"test_{name}" not in functions_of(file)] == []
    assert len(set(names.split())) == len(names.split())


def test_what_is_played_twice_is_there() -> None:
    assert [file for file in TWICE if not (HERE / file).exists()] == []
