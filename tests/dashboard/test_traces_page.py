"""The last seconds of an engine, from the engine page: who may ask, what he is told, what he sees, and what strangers see."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine.trace_file import packed
from engine_queue import lease
from engine_queue.models import Errand
from foundation import clock
from tests.dashboard.people import Ward, logged_in, read
from tests.engine import traces
from tests.factories import make_laboratory

pytestmark = pytest.mark.django_db
SEE_THE_ENGINE = {"analyst", "reviewer", "director", "model_steward", "operator"}


@pytest.fixture
def ward() -> Ward:
    """With a worker that serves its deployment."""
    found = Ward()
    lease.take_name("engine-1", kind="engine").announce(deployments=[found.test.deployment_id], fingerprints={})
    return found


def ask(client: Client, ward: Ward, **said: str) -> str:
    """What the page says after the click."""
    data = {"worker": "engine-1", "deployment": ward.test.deployment_id, **said}
    return client.post(reverse("engine-trace"), data, follow=True).content.decode()


def traced(ward: Ward, **changes: object) -> Errand:
    now = clock.now()
    values = {
        "worker": "engine-1", "verb": "trace", "deployment": ward.test.deployment, "asked_by": "Oda Operator", "asked_at": now,
        "ended_at": now, "state": "done", "trace_seconds": 1e6, "trace": packed(traces.played(), 1e9), **changes,
    }  # fmt: skip
    return Errand.objects.create(**values)


def test_a_click_asks_the_worker_and_leaves_a_trace_of_who_asked(ward: Ward) -> None:
    client = logged_in(Role.OPERATOR, ward.laboratory)
    assert "Draw its last 10 s" in read(client, "engine")
    said = ask(client, ward)
    errand = Errand.objects.get()
    assert (errand.worker, errand.verb, errand.state, errand.trace_seconds) == ("engine-1", "trace", "asked", 10.0)
    assert "Worker engine-1 is asked what it did in its last 10 s." in said and "○ asked" in said
    assert Event.objects.filter(action="deployment.trace_asked").count() == 1


def test_a_second_click_is_told_that_the_worker_is_busy(ward: Ward) -> None:
    client = logged_in(Role.OPERATOR, ward.laboratory)
    ask(client, ward)
    assert "Worker engine-1 is on another errand; wait until it has ended" in ask(client, ward)
    assert Errand.objects.count() == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"worker": "nobody"}, "No engine worker nobody is at work"),
        ({"worker": "<b>"}, "No engine worker &lt;b&gt; is at work"),
        ({"deployment": "none"}, "There is no deployment none"),
        ({"worker": "", "deployment": ""}, "There is no deployment"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(ward: Ward, said: dict[str, str], words: str) -> None:
    assert words in ask(logged_in(Role.OPERATOR, ward.laboratory), ward, **said)
    assert not Errand.objects.exists()


def test_the_picture_and_the_file_for_perfetto_hang_on_the_errand(ward: Ward) -> None:
    errand, client = traced(ward), logged_in(Role.OPERATOR, ward.laboratory)
    addresses = [reverse(f"engine-trace.{ending}", args=[errand.pk]) for ending in ("svg", "json")]
    said = read(client, "engine")
    assert all(f'href="{address}"' in said for address in addresses)
    picture, file = map(client.get, addresses)
    assert picture["Content-Type"] == "image/svg+xml"
    assert picture.content.startswith(b"<svg") and picture.content.rstrip().endswith(b"</svg>")
    assert f"{ward.test.deployment_id} on worker engine-1" in picture.content.decode()
    assert json.loads(file.content)["traceEvents"]
    assert file["Content-Disposition"] == f'attachment; filename="helicase-trace-{errand.pk}.json"'
    assert "no-store" in picture["Cache-Control"] and "no-store" in file["Cache-Control"]


@pytest.mark.parametrize("changes", [{"trace": None}, {"state": "taken", "ended_at": None}, {"verb": "load"}])
def test_what_is_kept_no_more_is_not_offered_and_not_found(ward: Ward, changes: dict[str, object]) -> None:
    errand, client = traced(ward, **changes), logged_in(Role.OPERATOR, ward.laboratory)
    address = reverse("engine-trace.svg", args=[errand.pk])
    assert client.get(address).status_code == 404
    assert address not in read(client, "engine")


@pytest.mark.parametrize("role", [role for role in Role if role != Role.SERVICE])
@pytest.mark.parametrize("own", [True, False], ids=["laboratory", "stranger"])
def test_who_may_look_at_the_engine_of_the_laboratory_and_nobody_else(ward: Ward, role: Role, own: bool) -> None:
    errand, client = traced(ward), logged_in(role, ward.laboratory if own else make_laboratory())
    may = own and role in SEE_THE_ENGINE
    for ending in ("svg", "json"):
        assert client.get(reverse(f"engine-trace.{ending}", args=[errand.pk])).status_code == (200 if may else 404)
    assert ("Draw its last" in read(client, "engine")) is may
    ask(client, ward)
    assert Errand.objects.filter(state="asked").exists() is may


def test_a_link_to_the_question_asks_nothing(ward: Ward) -> None:
    assert logged_in(Role.OPERATOR, ward.laboratory).get(reverse("engine-trace")).status_code == 405
