"""Rules of the house that no type checker sees."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from foundation import clock
from foundation.reasons import ALL, RETIRED

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
    codes = list(map(str, ALL))
    assert len(set(codes)) == len(codes)
    assert not RETIRED & set(codes)
    assert all(code == code.lower() and code.count(".") == 1 for code in codes)


def hears_signals(source: str) -> bool:
    """Whether a module imports any of Django's signals, or what connects to them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        if any(re.fullmatch(r"django(\.\w+)*\.(signals|dispatch)(\.\w+)*", name) for name in names):
            return True
    return False


def test_no_django_signals() -> None:
    assert [p.relative_to(ROOT).as_posix() for p in SOURCES if hears_signals(p.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        "from django.db.models.signals import post_save",
        "from django.db.models import signals",
        "from django.contrib.auth.signals import user_logged_in",
        "from django.core.signals import request_finished",
        "from django.dispatch import receiver",
        "import django.dispatch",
    ],
)
def test_every_kind_of_signal_would_be_found(source: str) -> None:
    assert hears_signals(source)


@pytest.mark.django_db
def test_the_models_are_what_the_migrations_make() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
