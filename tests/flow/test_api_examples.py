"""The examples of docs/api.md, as they stand there, against a real web process, a real check and a real engine."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import Organisation, User
from accounts.roles import Role
from config import demo
from orders.models import Order
from questions.models import Question
from supervisor.ports import LOCALHOST, Reservation
from tests.browser.served import uploads_checked
from tests.engine_queue.workers import Crowd, crowd
from tests.factories import make_token, make_user
from tests.services import ROOT

pytestmark = pytest.mark.flow
PAGE = (ROOT / "docs" / "api.md").read_text()


def example(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.fixture
def served(
    clone_db: str, valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Crowd, dict[str, str]]]:
    """The demonstration laboratory, served, with an engine; and the environment of the examples, whose token is a program's."""
    monkeypatch.setenv("DEMO", "1")
    demo.seed()
    reservation = Reservation()
    port = reservation.port
    reservation.close()
    analyst = User.objects.get(email=f"analyst@{demo.DEMO_DOMAIN}")
    laboratory = Organisation.objects.get(memberships__user=analyst)
    token = make_token(make_user(role=Role.SERVICE, organisation=laboratory), "place", "stat", "view_order")
    with crowd(tmp_path) as made, uploads_checked():
        made.engine_worker()
        web = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--log-level", "warning"]
        with (tmp_path / "web.log").open("wb") as out:
            made.running.append(subprocess.Popen(web, cwd=ROOT, env=os.environ, stdout=out, stderr=out))
        yield made, {**os.environ, "HELICASE": f"http://{LOCALHOST}:{port}", "TOKEN": token, "PERSON": make_token(analyst)}


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def answers(environment: dict[str, str]) -> bool:
    asked = ["curl", "--silent", "--fail", f"{environment['HELICASE']}/health/ready"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def test_the_examples_place_a_stat_order_and_fetch_its_scores(served: tuple[Crowd, dict[str, str]]) -> None:
    """As a program they place and follow; scores before release are read with a person's token of the laboratory."""
    workers, environment = served
    (workers.folder / "order.json").write_text(example("json"))
    (workers.folder / "demo").symlink_to(ROOT / "demo")
    workers.until(lambda: answers(environment), 60, "the web process")
    accession, state = run([sys.executable, "-c", example("python")], environment, workers.folder).split()
    placed = Order.objects.get(accession=accession)
    assert (placed.priority, placed.state, placed.items_total, state) == ("stat", "awaiting_review", 96, "awaiting_review")
    bash = ["bash", "-euo", "pipefail", "-c", example("bash")]
    assert run(bash, environment, workers.folder) == "not released yet\n"
    assert Order.objects.filter(priority="stat", items_total=200, scored_at__isnull=False).count() == 1
    person = {**environment, "TOKEN": environment["PERSON"]}
    again = [*bash[:-1], bash[-1].replace("LIS-4711", "LIS-4712")]
    assert run(again, person, workers.folder).startswith("accession,")
    assert len((workers.folder / "results.csv").read_text().splitlines()) == 201
    continued = run([sys.executable, "-c", example("python question")], person, workers.folder).strip()
    assert len(continued) == 30 and set(continued) <= set("ACGT") and Question.objects.get().run.seed == 7


def test_the_python_example_has_ten_lines() -> None:
    assert len(example("python").splitlines()) == 10
