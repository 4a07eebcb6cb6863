"""How long files and functions may grow, where everything may be caught, and which names are not given."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import ROOT

SOURCES = ("platform", "engine", "kernels", "models", "benchmarks", "tests", "manage.py")
LONGEST_FILE, LONGEST_TEST_FILE = 400, 500
LONGEST_FUNCTION, LONGEST_KERNEL = 40, 80

# The process edges, where everything is caught so that one bad unit cannot end the process. Nowhere else.
BROAD_EXCEPT_ALLOWED = {
    "engine/loop.py": "the engine's thread must not die unseen; a callback is the caller's code",
    "engine/swap/tier.py": "whatever a disk does, the thread lives and the request is computed again",
    "engine/runner.py": "what one row of a batch raises must not reach the others",
    "platform/engine_queue/feeder.py": "whatever one ticket or one job met, the worker serves the next",
    "platform/engine_queue/listener.py": "without its thread running jobs would hear of a change with their next renewal only",
    "platform/engine_queue/errands.py": "whatever one errand met, its person hears of it and the next one is run",
    "platform/engine_queue/finisher.py": "a result that cannot be written must not end the finisher's thread",
    "platform/engine_queue/keeper.py": "without its thread the leases would end and nobody would know why",
    "platform/engine_queue/pool.py": "the edge to celery: a lost acknowledgement costs one spare ticket",
    "platform/engine_queue/reporter.py": "without its thread pages would go on and say less",
    "platform/engine_queue/restore.py": "the edge to kombu: the broker gives the message out again",
    "platform/engine_queue/stat.py": "the edge to kombu: dead channels raise anything after a broker crash",
    "platform/engine_queue/sweeper.py": "one thing that cannot be put right must not keep the others waiting",
    "platform/interop/fhir/gate.py": "whatever a FHIR address meets is told as an OperationOutcome, never as a page",
    "platform/interop/tasks.py": "one order by FHIR that fails is counted, ends with a person, and keeps no other waiting",
    "platform/outbox/services.py": "whatever a receiver does, the message stays for another try",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def files() -> tuple[Path, ...]:
    found = [path for source in SOURCES for path in ([ROOT / source] if source.endswith(".py") else (ROOT / source).rglob("*.py"))]
    return tuple(sorted(path for path in found if "migrations" not in path.parts))


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {node.id for node in caught if isinstance(node, ast.Name)}
    return handler.type is None or bool(names & {"Exception", "BaseException"})


def broad_excepts() -> set[str]:
    return {
        name(path)
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and catches_everything(node) and not reraises(node)
    }


def reraises(handler: ast.ExceptHandler) -> bool:
    """`except BaseException: clean up; raise` hides nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_there_is_something_to_measure() -> None:
    assert len(files()) > 50


def test_no_file_runs_away() -> None:
    def limit(path: Path) -> int:
        return LONGEST_TEST_FILE if name(path).startswith("tests/") else LONGEST_FILE

    lengths = {name(path): len(path.read_text().splitlines()) for path in files()}
    assert {file: lines for file, lines in lengths.items() if lines > limit(ROOT / file)} == {}


def test_no_function_runs_away() -> None:
    def limit(path: Path) -> int:
        return LONGEST_KERNEL if name(path).startswith("kernels/") else LONGEST_FUNCTION

    too_long = {
        f"{name(path)}:{function.name}": length(function)
        for path in files()
        for function in functions(path)
        if length(function) > limit(path)
    }
    assert too_long == {}


def test_everything_is_caught_only_at_the_listed_process_edges() -> None:
    assert broad_excepts() == set(BROAD_EXCEPT_ALLOWED)


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "manager"])
def test_no_file_has_a_name_that_says_nothing(word: str) -> None:
    assert [name(path) for path in files() if path.stem == word] == []


@pytest.mark.parametrize("root", ["platform", "."])
def test_nothing_hides_a_module_of_the_standard_library(root: str) -> None:
    import sys

    tops = {path.stem for path in (ROOT / root).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert tops & sys.stdlib_module_names == set()


def test_a_suppression_names_its_rule() -> None:
    bare = re.compile(r"#\s*(noqa|type:\s*ignore)(?!\s*[:\[])")
    found = [
        f"{name(path)}:{number}"
        for path in files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if bare.search(line) and path != Path(__file__)
    ]
    assert found == []
