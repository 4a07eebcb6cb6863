"""Demo people have known roles and printed passwords: where DEMO is not 1, no process works beside them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import User
from config.checks import DEMO_DOMAIN
from engine_queue.models import Worker
from tests.engine_queue.workers import DEPLOYMENT, Crowd, crowd
from tests.services import ROOT

pytestmark = pytest.mark.flow

REFUSAL = (
    "1 demo people are active although DEMO is not 1. "
    "Set DEMO=1 on a demonstration system, or end their access: manage.py demo_passwords --deactivate"
)
COMMANDS = {
    "provision": ["provision", "--verbosity", "0"],
    "engine worker": ["engine_worker", "--name", "engine-1", "--deployment", DEPLOYMENT],
    "platform worker": ["platform_worker", "--name", "platform-1"],
    "beat": ["beat"],
    "sealer": ["sealer"],
}


@pytest.fixture
def demo_person(clone_db: str) -> User:
    return User.objects.create_user(email=f"analyst@{DEMO_DOMAIN}", name="Demo", password=None)


@pytest.fixture
def processes(demo_person: User, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def web(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--uds", str(folder / "web"), "--log-level", "warning"]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_works_beside_demo_people(processes: Crowd, name: str) -> None:
    process = processes.start(*COMMANDS[name])
    assert process.wait(60) == 2
    assert processes.log(process).splitlines() == [f"CommandError: {REFUSAL}"]


def test_the_web_serves_nobody_beside_demo_people(demo_person: User, tmp_path: Path) -> None:
    with web(tmp_path) as process:
        assert process.stderr
        said = process.stderr.read().splitlines()
    assert process.returncode > 0
    assert said == [f"ERROR:    {REFUSAL}", "ERROR:    Application startup failed. Exiting."]


def test_the_cure_that_the_line_names_lets_a_worker_start(processes: Crowd) -> None:
    assert processes.start("demo_passwords", "--deactivate").wait(60) == 0
    worker = processes.start("platform_worker", "--name", "platform-1", "--concurrency", "1")
    processes.until(lambda: Worker.objects.filter(name="platform-1").exists(), 60, "the worker's name")
    assert worker.poll() is None


def test_a_demonstration_starts_with_its_demo_people(processes: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO", "1")
    processes.start("platform_worker", "--name", "platform-1", "--concurrency", "1")
    processes.until(lambda: Worker.objects.filter(name="platform-1").exists(), 60, "the worker's name")


def test_without_a_database_the_web_does_not_guess(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://helicase_app:hush@127.0.0.1:1/none")
    with web(tmp_path) as process:
        assert process.stderr
        said = process.stderr.read()
    assert process.returncode > 0
    assert "the database cannot be used" in said
    assert "Traceback" not in said
    assert "hush" not in said
