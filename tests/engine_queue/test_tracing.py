"""What an engine did last: who may ask for it, what the worker gives away, what the command writes."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from accounts.roles import Role
from audit.models import Event
from engine_queue import errands, host, selectors
from engine_queue.errors import ErrandRefused, WorkerRefused
from engine_queue.models import Errand
from foundation.errors import NotPermitted
from tests.engine import traces
from tests.engine_queue import test_crew
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_actor, make_laboratory, make_test_version, make_user

worker = test_crew.worker  # a crew whose engine the test holds


@pytest.fixture
def crew_worker(worker: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    from engine.trace_file import packed

    monkeypatch.setattr(worker.host, "trace", lambda deployment, seconds: packed(traces.played(), 1e9), raising=False)
    worker.crew.errands.stop()  # the test takes the turns
    return worker


def asked(actor: Any, seconds: float = 10.0) -> Errand:
    return errands.ask(worker="engine-1", verb="trace", deployment=DEPLOYMENT, actor=actor, trace_seconds=seconds)


def ran(worker: Any, errand: Errand) -> Errand:
    worker.crew.errands.turn()
    errand.refresh_from_db()
    return errand


def steward(laboratory: Any) -> Any:
    """May look at the engine, and drain nothing."""
    return make_actor(role=Role.MODEL_STEWARD, organisation=laboratory)


def test_who_may_look_at_the_engine_gets_its_last_seconds(crew_worker: Any) -> None:
    errand = ran(crew_worker, asked(steward(make_test_version().definition.laboratory)))
    assert (errand.state, errand.measured["trace_seconds"]) == ("done", 10.0)
    found = host.pictures(bytes(errand.trace or b""), 1e9, "a worker")
    assert "stat-timeline" not in found[".svg"] and "8 stat score 200" in found[".svg"]
    assert {event.action for event in Event.objects.all()} >= {"deployment.trace_asked", "deployment.traced"}
    assert crew_worker.crew.loaded == [DEPLOYMENT]


def test_a_stranger_and_who_may_not_look_at_the_engine_get_nothing(crew_worker: Any) -> None:
    laboratory = make_test_version().definition.laboratory
    for actor in (steward(make_laboratory()), make_actor(role=Role.REQUESTER, organisation=laboratory)):
        with pytest.raises(NotPermitted):
            asked(actor)
    assert not Errand.objects.exists()


@pytest.mark.parametrize("seconds", [0.0, -1.0, 61.0, float("nan")])
def test_a_trace_is_of_a_minute_at_most(crew_worker: Any, seconds: float) -> None:
    with pytest.raises(ErrandRefused, match="up to 60 seconds"):
        asked(steward(make_test_version().definition.laboratory), seconds)


def test_only_the_newest_are_kept_and_a_list_of_errands_reads_none(crew_worker: Any) -> None:
    laboratory = make_test_version().definition.laboratory
    made = [ran(crew_worker, asked(steward(laboratory))).pk for _ in range(errands.TRACES_KEPT + 2)]
    kept = list(Errand.objects.filter(trace__isnull=False).order_by("pk").values_list("pk", flat=True))
    assert kept == made[2:]
    listed: QuerySet[Errand] = selectors.errands([laboratory.pk])
    assert all("trace" in errand.get_deferred_fields() for errand in listed)


def test_an_engine_that_keeps_no_trace_says_so(crew_worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(deployment: str, seconds: float) -> bytes:
        raise WorkerRefused("it keeps no trace (ENGINE_TRACE is off)")

    monkeypatch.setattr(crew_worker.host, "trace", none)
    errand = ran(crew_worker, asked(steward(make_test_version().definition.laboratory)))
    assert (errand.state, errand.said, errand.trace) == ("refused", "it keeps no trace (ENGINE_TRACE is off)", None)


def test_the_command_writes_a_picture_and_a_file(
    crew_worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person = make_user(role=Role.MODEL_STEWARD, organisation=make_test_version().definition.laboratory)
    monkeypatch.setattr(errands, "wait", lambda errand, seconds: ran(crew_worker, errand))
    call_command("trace_worker", "engine-1", DEPLOYMENT, by=person.email, out=tmp_path / "last", seconds=5.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.json", "last.svg"]
    assert "the last 5 s" in capsys.readouterr().out
    with pytest.raises(CommandError, match="--wait"):
        call_command("trace_worker", "engine-1", DEPLOYMENT, by=person.email, out=tmp_path / "last", wait=0.0)
