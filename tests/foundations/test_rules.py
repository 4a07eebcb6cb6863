"""Rules of the house that no type checker sees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from engine_queue import outcomes
from foundation import clock
from foundation.reasons import RETIRED, Reason

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("platform", "engine", "kernels") for p in (ROOT / folder).rglob("*.py")]


def test_the_clock_is_the_only_source_of_time() -> None:
    """`time.monotonic` measures spans and is allowed; the engine has its own injected clock, files keep the operating system's."""
    forbidden = {("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("timezone", "now"), ("time", "time")}
    offences = []
    for path in (p for p in SOURCES if "platform" in p.parts and p.name != "clock.py" and "supervisor" not in p.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) in forbidden:
                offences.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert offences == []


def test_the_clock_is_aware_and_in_utc() -> None:
    assert clock.now().utcoffset() is not None
    assert clock.now().tzname() == "UTC"


def test_importing_the_addresses_does_not_import_torch() -> None:
    code = "import django; django.setup(); import config.urls, config.asgi, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_platform_is_a_source_root_and_not_a_package() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_reason_codes_are_unique_well_formed_and_never_reused() -> None:
    codes = [reason.value for reason in Reason]
    assert len(set(codes)) == len(codes)
    assert not RETIRED & set(codes)
    assert all(code == code.lower() and code.count(".") == 1 for code in codes)


def test_no_django_signals() -> None:
    users = [
        p.relative_to(ROOT).as_posix()
        for p in SOURCES
        if "dispatch import receiver" in p.read_text() or "models.signals" in p.read_text()
    ]
    assert users == []


def test_who_listens_to_the_engine_queue_and_in_which_order() -> None:
    """The order matters: the order's own state first, then what is built on it."""
    listeners = [f"{fn.__module__}.{fn.__qualname__}" for fn in outcomes._listeners]
    assert listeners[0] == "orders.progress.apply"
    assert [f"{fn.__module__}.{fn.__qualname__}" for fn in outcomes._before] == ["orders.progress.lock_order"]


@pytest.mark.parametrize("contract", ["layers", "forbidden", "protected"])
def test_the_import_rule_is_written_down(contract: str) -> None:
    assert f'type = "{contract}"' in (ROOT / "pyproject.toml").read_text()
