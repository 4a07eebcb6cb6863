"""A worker that runs takes up a deployment and leaves one: what it then claims, what becomes of its work, who may ask."""

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import OperationalError

from accounts.models import Membership
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue import errands, lease, tickets
from engine_queue.errors import ErrandRefused, WorkerRefused
from engine_queue.host import Bits
from engine_queue.models import Errand, Job, Run, Worker
from engine_queue.work import Ticket
from foundation import clock
from foundation.errors import NotPermitted
from registry.models import Deployment, ModelVersion, TestVersion
from registry.services import register_deployment
from tests.engine_queue import test_crew
from tests.engine_queue.rows import make_run, take
from tests.engine_queue.test_crew import settle
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_actor, make_laboratory, make_organisation, make_test_version, make_user

OTHER = "ecoli-orf-2k-second"
worker = test_crew.worker  # a crew whose engine the test holds


class Loads:
    """Takes part of the host: loading a model is shown by the flow test, here only what follows from it."""

    golden = "g" * 64

    def load(self, deployment: str, folder: object, pin: object) -> Bits:
        return Bits("f" * 64, self.golden)

    def unload(self, deployment: str) -> None:
        self.left = deployment


@pytest.fixture
def crew_worker(worker: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    worker.loads = Loads()
    monkeypatch.setattr(worker.host, "load", worker.loads.load, raising=False)
    monkeypatch.setattr(worker.host, "unload", worker.loads.unload, raising=False)
    worker.crew.errands.stop()  # the test takes the turns
    return worker


def other() -> TestVersion:
    return make_test_version(deployment=OTHER)


def asked(verb: str, deployment: str = OTHER, **more: Any) -> Errand:
    laboratory = TestVersion.objects.get(deployment=deployment).definition.laboratory
    return errands.ask(worker="engine-1", verb=verb, deployment=deployment, actor=_operator(laboratory), **more)


def _operator(laboratory: Any) -> Any:
    return make_actor(role=Role.OPERATOR, organisation=laboratory)


def run_errand(worker: Any, errand: Errand) -> Errand:
    worker.crew.errands.turn()
    errand.refresh_from_db()
    return errand


@pytest.mark.django_db
def test_a_worker_claims_nothing_of_a_deployment_it_does_not_serve() -> None:
    theirs = make_run(items=25, test=other(), rank=0)  # STAT, and still not ours
    ours = make_run(items=25, test=make_test_version())
    assert take(loaded=(DEPLOYMENT,)).run_id == ours.pk  # type: ignore[union-attr]
    assert take(loaded=(DEPLOYMENT,)) is None
    assert take(loaded=()) is None
    assert take(loaded=(DEPLOYMENT, OTHER)).run_id == theirs.pk  # type: ignore[union-attr]


def test_a_deployment_that_was_loaded_is_claimed_and_shown(crew_worker: Any) -> None:
    run = make_run(items=1, test=other())
    errand = run_errand(crew_worker, asked("load"))
    assert (errand.state, list(errand.measured)) == ("done", ["load_seconds"])
    assert Worker.objects.get().deployments == [DEPLOYMENT, OTHER]
    crew_worker.ticket()
    settle(crew_worker)
    assert crew_worker.host.computing() == [run.pk]
    event = Event.objects.get(action="deployment.loaded")
    assert (event.actor_name, event.facts["load_seconds"]) == ("engine-1", errand.measured["load_seconds"])


def test_a_drain_lets_finish_what_runs_and_takes_nothing_new(crew_worker: Any) -> None:
    other()
    test = make_test_version()
    first, errand = make_run(items=25, test=test), asked("unload", DEPLOYMENT, drain_seconds=60.0)
    crew_worker.ticket()
    settle(crew_worker)
    later = make_run(items=25, test=test)
    crew_worker.crew.loaded = [*crew_worker.crew.loaded]
    original = crew_worker.crew._held_of

    def finishing(deployment: str) -> Any:
        """As soon as the drain looks, the engine has finished."""
        held = original(deployment)
        if held:
            crew_worker.host.finish(first)
        return held

    crew_worker.crew._held_of = finishing
    assert run_errand(crew_worker, errand).measured["finished"] == 1
    assert (Run.objects.get(pk=first.pk).state, later.jobs.get().state) == ("scored", "queued")
    assert crew_worker.loads.left == DEPLOYMENT
    assert Worker.objects.get().deployments == []


def test_what_is_not_finished_in_time_goes_back_and_tickets_go_to_others(crew_worker: Any, valkey_url: str) -> None:
    run = make_run(items=75, test=make_test_version())
    crew_worker.tickets(3)  # two places: one ticket waits
    settle(crew_worker)
    with redis.Redis.from_url(valkey_url) as broker:
        broker.flushall()
        errand = run_errand(crew_worker, asked("unload", DEPLOYMENT))
        assert broker.llen(tickets.routine_queue(DEPLOYMENT)) == 3
    assert (errand.measured["given_back"], errand.measured["tickets"]) == (2, 1)
    assert set(run.jobs.values_list("state", "deaths")) == {("queued", 0)}
    assert sorted(crew_worker.settled) == [1, 2, 3]


def test_a_ticket_that_comes_after_all_is_passed_on(crew_worker: Any, valkey_url: str) -> None:
    make_run(items=1, test=other())
    with redis.Redis.from_url(valkey_url) as broker:
        broker.flushall()
        crew_worker.crew.offer(Ticket(9, "task-9", False, lambda: crew_worker.settled.append(9), OTHER))
        settle(crew_worker)
        assert broker.llen(tickets.routine_queue(OTHER)) == 1
    assert (crew_worker.settled, Job.objects.get().state) == ([9], "queued")


def test_bits_that_differ_are_refused_and_what_is_served_goes_on(crew_worker: Any) -> None:
    other()
    Deployment.objects.filter(pk=OTHER).update(fingerprint="f" * 64, golden="0" * 64)
    errand = run_errand(crew_worker, asked("load"))
    assert errand.state == "refused"
    assert "pinned to golden bits 000000000000…" in errand.said
    assert (crew_worker.crew.loaded, crew_worker.loads.left) == ([DEPLOYMENT], OTHER)


@pytest.mark.parametrize(("verb", "said"), [("load", "serves ecoli-orf-2k-fp32 already"), ("unload", "does not serve")])
def test_an_errand_without_sense_is_refused_in_words(crew_worker: Any, verb: str, said: str) -> None:
    make_test_version()
    other()
    assert said in run_errand(crew_worker, asked(verb, DEPLOYMENT if verb == "load" else OTHER)).said


def test_an_errand_that_a_former_self_took_has_ended_with_it(crew_worker: Any) -> None:
    other()
    errand = asked("load")
    Errand.objects.update(state="taken")
    assert run_errand(crew_worker, errand).said == "the worker ended before it had done it"
    assert OTHER not in crew_worker.crew.loaded


def test_only_who_may_drain_may_ask_and_only_a_worker_at_work_one_errand_at_a_time(crew_worker: Any) -> None:
    laboratory = other().definition.laboratory
    ask = {"worker": "engine-1", "verb": "load", "deployment": OTHER}
    for actor in (
        make_actor(role=Role.ANALYST, organisation=laboratory),
        make_actor(role=Role.OPERATOR, organisation=make_laboratory()),
    ):
        with pytest.raises(NotPermitted):
            errands.ask(**ask, actor=actor)
    operator = _operator(laboratory)
    for wrong, words in (({"worker": "engine-2"}, "no engine worker engine-2"), ({"deployment": "x"}, "no deployment x")):
        with pytest.raises(ErrandRefused, match=words):
            errands.ask(**{**ask, **wrong}, actor=operator)
    errands.ask(**ask, actor=operator)
    with pytest.raises(ErrandRefused, match="on another errand"):
        errands.ask(**ask, actor=operator)


def test_who_asks_may_drain_in_every_laboratory_that_works_with_the_deployment(crew_worker: Any) -> None:
    ours, theirs = other().definition.laboratory, other().definition.laboratory
    ask = {"worker": "engine-1", "verb": "unload", "deployment": OTHER}
    for laboratory in (ours, theirs):
        with pytest.raises(NotPermitted):
            errands.ask(**ask, actor=_operator(laboratory))
    both = make_user(role=Role.OPERATOR, organisation=ours)
    Membership.objects.create(user=both, organisation=theirs, role=Role.OPERATOR, granted_at=clock.now())
    assert errands.ask(**ask, actor=actor_for(both)).state == "asked"


def test_a_stranger_loads_nothing_on_a_worker_of_a_laboratory(crew_worker: Any) -> None:
    """A deployment that nobody offers concerns those whose work the worker does."""
    ours = make_test_version(deployment=DEPLOYMENT).definition.laboratory
    Worker.objects.update(deployments=[DEPLOYMENT])
    model, stranger = ModelVersion.objects.get(), make_laboratory()
    register_deployment(name="unoffered", model_version=model, precision="fp32", pin={"threads": 1})
    ask = {"worker": "engine-1", "verb": "load", "deployment": "unoffered"}
    with pytest.raises(NotPermitted):
        errands.ask(**ask, actor=_operator(stranger))
    assert errands.ask(**ask, actor=_operator(ours)).state == "asked"


@pytest.mark.django_db
def test_a_worker_without_work_is_for_operators_of_a_laboratory_and_not_of_a_hospital() -> None:
    model = make_test_version().deployment.model_version
    register_deployment(name="unoffered", model_version=model, precision="fp32", pin={"threads": 1})
    lease.take_name("engine-1", kind="engine")
    ask = {"worker": "engine-1", "verb": "load", "deployment": "unoffered"}
    with pytest.raises(NotPermitted):
        errands.ask(**ask, actor=_operator(make_organisation()))
    assert errands.ask(**ask, actor=_operator(make_laboratory())).state == "asked"


def test_a_claim_that_does_not_land_leaves_the_deployment_served(crew_worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine_queue.crew.WRITE_SECONDS", 0.01)
    monkeypatch.setattr(crew_worker.crew._feeders[False], "serving", True)
    with pytest.raises(WorkerRefused, match="try again"):
        crew_worker.crew.withdraw(DEPLOYMENT, 0.0)
    assert crew_worker.crew.loaded == [DEPLOYMENT]


@pytest.mark.django_db
def test_an_errand_that_has_ended_stays_as_it_ended() -> None:
    from django.db import IntegrityError

    other()
    lease.take_name("engine-1", kind="engine")
    errand = asked("load")
    Errand.objects.filter(pk=errand.pk).update(state="done", ended_at=clock.now())
    with pytest.raises(IntegrityError, match="is pinned"):
        Errand.objects.filter(pk=errand.pk).update(measured={"load_seconds": 0})


@pytest.mark.parametrize("seconds", ["inf", "nan", "-1", "1e12"])
def test_a_drain_has_an_end(crew_worker: Any, seconds: str) -> None:
    other()
    with pytest.raises(ErrandRefused, match="a drain takes 0 to 86,400 seconds"):
        asked("unload", drain_seconds=float(seconds))


def test_an_engine_whose_bits_cannot_be_compared_is_stopped(crew_worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other()
    monkeypatch.setattr("engine_queue.loading.agree", _away)
    errand = run_errand(crew_worker, asked("load"))
    assert (errand.state, errand.said) == ("refused", "OperationalError: see the log of the worker")
    assert (crew_worker.crew.loaded, crew_worker.loads.left) == ([DEPLOYMENT], OTHER)


def test_an_errand_that_was_asked_of_a_former_self_is_not_run(crew_worker: Any) -> None:
    other()
    errand = asked("load")
    Worker.objects.update(started_at=clock.now())
    assert run_errand(crew_worker, errand).said == "the worker ended before it had done it"
    assert OTHER not in crew_worker.crew.loaded


def test_an_errand_asked_by_a_clock_that_is_behind_is_run(crew_worker: Any) -> None:
    other()
    crew_worker.crew.errands.turn()
    errand = asked("load")
    Errand.objects.update(asked_at=clock.now() - timedelta(hours=1))
    assert run_errand(crew_worker, errand).state == "done"


def test_what_the_database_could_not_be_told_is_told_at_the_next_turn(crew_worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other()
    errand = asked("load")
    with monkeypatch.context() as broken, pytest.raises(OperationalError):
        broken.setattr("engine_queue.lease.NameLease.announce", _away)
        crew_worker.crew.errands.turn()
    assert (run_errand(crew_worker, errand).state, Worker.objects.get().deployments) == ("done", [DEPLOYMENT, OTHER])
    assert Event.objects.filter(action="deployment.loaded").count() == 1


def _away(*args: Any, **named: Any) -> None:
    raise OperationalError("the database is away")


def test_who_asked_stands_in_an_event_of_the_laboratory(crew_worker: Any) -> None:
    laboratory = other().definition.laboratory
    operator = make_user(role=Role.OPERATOR, organisation=laboratory)
    for verb in ("load", "unload"):
        errands.ask(worker="engine-1", verb=verb, deployment=OTHER, actor=actor_for(operator))
        Errand.objects.update(state="done")
    asked = Event.objects.filter(action__endswith="_asked").order_by("pk")
    assert [(event.action, event.actor_id, event.organisation_id) for event in asked] == [
        (f"deployment.{verb}_asked", operator.pk, laboratory.pk) for verb in ("load", "unload")
    ]
