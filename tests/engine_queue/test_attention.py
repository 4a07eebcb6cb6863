"""A job that waits for a person goes on under that person's name."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue import attention, settling
from engine_queue.errors import JobNotWaiting
from engine_queue.models import Job
from foundation.errors import NotPermitted
from registry.models import TestDefinition
from tests.engine_queue.rows import make_run, returned, take, taken
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    """One with which three workers died."""
    make_run(items=1)
    claimed = taken()
    Job.objects.update(deaths=3)
    settling.settle(returned(claimed, attention="job.worker-died"))
    return Job.objects.get()


def person(role: Role = Role.OPERATOR) -> str:
    return make_user(role=role, organisation=TestDefinition.objects.get().laboratory, name="Olu Operator").email


def resume(*arguments: str) -> str:
    said = StringIO()
    call_command("resume_job", *arguments, stdout=said)
    return said.getvalue()


def test_it_runs_again_as_if_nobody_had_died(job: Job) -> None:
    assert take() is None
    resume(str(job.pk), "--by", person(), "--reason", "new memory")
    assert not taken().alone


def test_the_event_names_the_person_the_reason_and_what_was_wrong(job: Job) -> None:
    resume(str(job.pk), "--by", person(), "--reason", "new memory")
    event = Event.objects.get(action="job.resumed", object_id=str(job.pk))
    assert (event.actor_name, event.reason) == ("Olu Operator", "new memory")
    assert (event.facts["attention"], event.facts["deaths"]) == ("job.worker-died", 3)


def test_it_gets_a_ticket(job: Job, django_capture_on_commit_callbacks: object, valkey_url: str) -> None:
    actor = actor_for(make_user(role=Role.OPERATOR, organisation=TestDefinition.objects.get().laboratory))
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]  # pytest-django's fixture
        attention.resume(job, actor=actor, reason="new memory")
    job.refresh_from_db()
    assert job.tickets == 1


def test_who_may_not_stop_the_engine_may_not_let_a_job_go_on(job: Job) -> None:
    actor = actor_for(make_user(role=Role.ACCESSIONER, organisation=TestDefinition.objects.get().laboratory))
    with pytest.raises(NotPermitted):
        attention.resume(job, actor=actor, reason="in a hurry")


def test_what_waits_for_nobody_is_refused(job: Job) -> None:
    actor = actor_for(make_user(role=Role.OPERATOR, organisation=TestDefinition.objects.get().laboratory))
    attention.resume(job, actor=actor, reason="new memory")
    with pytest.raises(JobNotWaiting, match=f"job {job.pk} waits for nobody: it is queued"):
        attention.resume(job, actor=actor, reason="again")


@pytest.mark.parametrize("options", [[], ["--reason", "new memory"], ["--by", "nobody@example.org", "--reason", "new memory"]])
def test_nobody_is_no_person(job: Job, options: list[str]) -> None:
    with pytest.raises(CommandError):
        resume(str(job.pk), *options)
    assert Job.objects.get().attention == "job.worker-died"


def test_without_a_number_it_lists_what_waits(job: Job) -> None:
    assert f"{job.pk}  order – " in resume()
    assert "Three workers stopped" in resume()
