"""The engine page: who serves what, how long it took to load, what was asked of workers and what became of it."""

from datetime import timedelta

import pytest

from accounts.roles import Role
from engine_queue import lease
from engine_queue.models import Errand, Worker
from foundation import clock
from registry.models import Deployment
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_laboratory

pytestmark = pytest.mark.django_db
LOADED = {"state": "done", "measured": {"load_seconds": 2.71}}
UNLOADED = {
    "state": "done", "verb": "unload",
    "measured": {"drain_seconds": 1.24, "unload_seconds": 0.3, "finished": 2, "given_back": 1, "tickets": 0},
}  # fmt: skip
REFUSED = {"state": "refused", "said": "it serves <b>one</b> already"}


@pytest.fixture
def ward() -> Ward:
    return Ward()


def errand(ward: Ward, **changes: object) -> Errand:
    ended = clock.now() if changes.get("state") in ("done", "refused") else None
    values = {
        "worker": "engine-1", "verb": "load", "deployment": ward.test.deployment, "asked_by": "Oda Operator",
        "asked_at": clock.now(), "ended_at": ended, **changes,
    }  # fmt: skip
    return Errand.objects.create(**values)


def page(ward: Ward, name: str = "engine") -> str:
    return read(logged_in(Role.OPERATOR, ward.laboratory), name)


@pytest.mark.parametrize("name", ["engine", "engine-live"])
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (LOADED, ["● done", "Oda Operator", "Load <b>ecoli-orf-2k-fp32</b>", "loaded in 2.7 s"]),
        (UNLOADED, ["Unload <b>", "drained in 1.2 s, unloaded in 0.3 s, 2 jobs finished, 1 job given back"]),
        (REFUSED, ["▲ not done", "it serves &lt;b&gt;one&lt;/b&gt; already"]),
        ({"state": "asked"}, ["▲ open", "worker engine-1 is gone"]),
    ],
    ids=["loaded", "unloaded", "refused", "gone"],
)
def test_an_errand_is_told_with_who_asked_and_what_became_of_it(
    ward: Ward, name: str, changes: dict[str, object], words: list[str]
) -> None:
    errand(ward, **changes)
    said = page(ward, name)
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize(("state", "word"), [("asked", "○ asked"), ("taken", "◆ under way")])
def test_one_that_a_living_worker_has_before_it_stands_on_top(ward: Ward, state: str, word: str) -> None:
    lease.take_name("engine-1", kind="engine")
    errand(ward, state=state, asked_by="First", asked_at=clock.now() - timedelta(hours=1))
    errand(ward, asked_by="Second", **LOADED)
    said = page(ward)
    assert word in said
    assert said.index("First") < said.index("Second")


def test_a_stranger_who_may_look_at_engines_sees_no_errand_of_another_laboratory(ward: Ward) -> None:
    errand(ward, **REFUSED)
    stranger = logged_in(Role.OPERATOR, make_laboratory())
    for name in ("engine", "engine-live"):
        said = read(stranger, name)
        assert "Nothing was asked of a worker yet" in said
        assert "Oda Operator" not in said and "already" not in said


def test_a_deployment_tells_its_bits_and_how_long_each_worker_took_to_load_it(ward: Ward) -> None:
    name = ward.test.deployment_id
    assert "pinned by the first worker that loads it" in page(ward)
    Deployment.objects.filter(pk=name).update(fingerprint="f" * 64, golden="9" * 64)
    held = lease.take_name("engine-1", kind="engine")
    held.announce(deployments=[name], fingerprints={})
    held.extend({"load_seconds": {name: 3.3}})
    said = page(ward)
    assert "f" * 12 + "…" in said and "9" * 12 + "…" in said
    assert "engine-1 <small>loaded in 3.3 s</small>" in said


@pytest.mark.parametrize("name", ["engine", "engine-live"])
def test_work_that_nobody_serves_is_a_loud_state_here_too(ward: Ward, name: str) -> None:
    ward.order(priority="stat")
    said = page(ward, name)
    assert f"No engine worker serves {ward.test.deployment_id}: 1 job waits, 1 of them STAT" in said and "▲ nobody" in said
    lease.take_name("engine-1", kind="engine").announce(deployments=[ward.test.deployment_id], fingerprints={})
    assert "No engine worker serves" not in page(ward, name)


def test_why_a_worker_does_not_serve_a_deployment_stands_there_word_for_word(ward: Ward) -> None:
    why = "deployment ecoli-orf-2k-fp32 is pinned to golden bits 000000000000… and this machine gives 1111"
    lease.take_name("engine-1", kind="engine").extend({"refused": {"ecoli-orf-2k-fp32": why}})
    assert shown(f"not ecoli-orf-2k-fp32: {why}", page(ward))
    Worker.objects.update(lease_until=clock.now() - timedelta(minutes=1))
    assert shown(why, page(ward))  # when its process is gone, too


def test_a_worker_that_keeps_no_swap_files_says_why(ward: Ward) -> None:
    why = "swap_folder <b> cannot be used: Not a directory"
    lease.take_name("engine-1", kind="engine").extend({"swapless": {"ecoli-orf-2k-fp32": why}})
    assert shown(f"ecoli-orf-2k-fp32 is served without swap files: {why}", page(ward))
