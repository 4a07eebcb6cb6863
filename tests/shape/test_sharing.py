"""Two workers share the tests; everything that starts platforms is in one row on one of them."""

import gzip
import re

import pytest

from tests.services import ROOT
from tests.sharing import PLATFORMS, Shared


def test_every_file_that_starts_processes_lies_where_only_one_worker_takes_them() -> None:
    files = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    marked = [name for name, text in files.items() if re.search(r"pytest\.mark\.(flow|browser)\b", text)]
    assert len(marked) > 10
    assert [name for name in marked if not name.startswith(PLATFORMS)] == []


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/flow/test_a.py::test_x[1]", "platforms"), ("tests/browser/test_b.py::test_y", "platforms"),
        ("tests/orders/test_c.py::test_x[a::b]", "tests/orders/test_c.py"),
        ("tests/orders/test_c.py::test_z", "tests/orders/test_c.py"),
    ],
)  # fmt: skip
def test_a_file_is_one_unit_of_work_and_all_platforms_another(test: str, unit: str) -> None:
    assert Shared.unit(test) == unit


@pytest.mark.parametrize("packed", [gzip.compress(b"a"), gzip.compress(b"b")])
def test_bytes_do_not_name_a_test(packed: bytes, request: pytest.FixtureRequest) -> None:
    assert request.node.name in ("test_bytes_do_not_name_a_test[packed0]", "test_bytes_do_not_name_a_test[packed1]")
