"""The environment and the system checks say what is wrong, by name, before anything starts."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from accounts.models import User
from config import demo, demo_region
from config.checks import DEMO_DOMAIN, demo_is_not_production, demo_people_only_in_demo
from config.environment import Environment, database
from orders.models import Order

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("variable", ["SECRET_KEY", "DATABASE_URL", "REDIS_URL"])
def test_a_missing_variable_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable)
    with pytest.raises(ValidationError, match=variable.lower()):
        Environment.read()


@pytest.mark.parametrize(
    ("variable", "value"), [("SECRET_KEY", "abc123"), ("DATABASE_URL", "mysql://x"), ("REDIS_URL", "amqp://x"), ("DEMO", "maybe")]
)
def test_a_malformed_variable_is_refused_without_printing_its_value(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError) as refused:
        Environment.read()
    assert variable.lower() in str(refused.value)
    assert value not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value"), [("DEMO", "2"), ("LOG_LEVEL", "foo"), ("MODELS_DIR", "/nowhere"), ("SECRET_KEY", "x")]
)
def test_a_process_ends_with_one_line_when_its_environment_is_wrong(variable: str, value: str) -> None:
    wrong = {**os.environ, variable: value}
    done = subprocess.run([sys.executable, "manage.py", "check"], cwd=ROOT, env=wrong, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"helicase: {variable}: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_database_address_may_hold_percent_codes() -> None:
    entry = database("postgresql://user:p%40ss@db:5433/a%20name")
    assert (entry["PASSWORD"], entry["NAME"], entry["PORT"]) == ("p@ss", "a name", "5433")


def test_options_of_a_database_address_reach_the_driver() -> None:
    assert database("postgresql://u:p@db/x?sslmode=require", pool=True)["OPTIONS"].keys() == {"sslmode", "pool"}  # type: ignore[attr-defined]


def loaded(module: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The settings as a new process reads them."""
    code = "from django.conf import settings; print(settings.DEBUG, settings.SECRET_KEY)"
    environment = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
    environment |= {"DJANGO_SETTINGS_MODULE": f"config.settings.{module}"} | variables
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["dev", "production", "test"])
def test_the_key_comes_from_the_environment_and_debug_is_off(module: str) -> None:
    key = "k" * 50
    assert loaded(module, SECRET_KEY=key).stdout == f"False {key}\n"
    without = loaded(module)
    assert without.returncode != 0
    assert "SECRET_KEY: " in without.stderr


def test_demo_is_refused_with_production_settings(settings: Any) -> None:
    settings.DEMO = True
    settings.SETTINGS_MODULE = "config.settings.production"
    assert [error.id for error in demo_is_not_production(None)] == ["helicase.E001"]


@pytest.mark.django_db
def test_active_demo_people_are_an_error_outside_a_demonstration(settings: Any) -> None:
    User.objects.create_user(email=f"analyst@{DEMO_DOMAIN}", name="Demo", password=None)
    assert [error.id for error in demo_people_only_in_demo(None, databases=["default"])] == ["helicase.E002"]
    settings.DEMO = True
    assert demo_people_only_in_demo(None, databases=["default"]) == []
    settings.DEMO = False
    User.objects.update(is_active=False)
    assert demo_people_only_in_demo(None, databases=["default"]) == []


@pytest.mark.django_db
def test_the_demo_seed_can_be_run_again_and_adds_nothing() -> None:
    first, second = demo.seed(), demo.seed()
    assert demo_region.seed() == demo_region.seed() and Order.objects.count() == 2
    assert (len(first), second) == (len(demo.PEOPLE), {})
    assert len(set(first.values())) == len(first)
    assert all(User.objects.get(email=email).check_password(password) for email, password in first.items())


def test_the_demo_seed_is_refused_without_demo() -> None:
    done = subprocess.run([sys.executable, "manage.py", "seed_demo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DEMO is not 1" in done.stderr
    assert "Traceback" not in done.stderr
