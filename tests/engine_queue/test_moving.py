"""A job changes its state in one way only, and what a person may ask about later leaves an event."""

import pytest
from django.db import IntegrityError, models, transaction

from audit.models import Event
from engine_queue import cancelling, deaths, moving, settling
from engine_queue.machines import JOB, RUN
from engine_queue.models import Job, Run
from foundation.actor import process
from foundation.errors import IllegalMove, Stale
from foundation.machine import Machine
from tests.engine_queue.rows import job_of, make_run, returned, scored, taken

pytestmark = pytest.mark.django_db
ROWS: dict[Machine, type[models.Model]] = {RUN: Run, JOB: Job}


def events(*, but: str = "job.claimed") -> list[tuple[str, str, str]]:
    jobs = Event.objects.filter(object_type="engine_queue.job").exclude(action=but)
    return list(jobs.order_by("id").values_list("action", "actor_name", "reason"))


def test_a_move_without_an_edge_is_refused_before_the_database() -> None:
    job = make_run(items=1).jobs.get()
    with pytest.raises(IllegalMove, match="a queued job cannot become succeeded"):
        moving.succeed(job)


def test_a_job_that_moved_on_since_it_was_read_is_not_moved() -> None:
    job = make_run(items=1).jobs.get()
    taken()
    with pytest.raises(Stale):
        moving.cancel(job, actor=process("test"), reason="too late")
    assert Job.objects.get().state == "running"


def test_a_move_leaves_the_row_in_hand_as_the_one_in_the_database() -> None:
    job = make_run(items=1).jobs.get()
    moving.take(job, owner="worker/1", task_id="task", actor=process("worker"))
    stored = Job.objects.filter(pk=job.pk).values().get()
    assert {name: getattr(job, name) for name in stored} == stored


def test_a_job_given_back_says_why() -> None:
    make_run(items=1)
    settling.settle(returned(taken()))
    assert events() == [("job.given_back", "worker", "test")]


def test_a_death_names_the_worker_that_is_gone_and_who_found_out() -> None:
    make_run(items=1)
    claimed = taken()
    deaths.bury(claimed.job_id, claimed.run_id, owner=claimed.owner, attempt=1, by="sweeper")
    assert events() == [("job.worker_died", "sweeper", "worker worker/1 is gone")]


def test_a_cancelled_run_leaves_an_event_for_what_waited_and_for_what_ran() -> None:
    run = make_run(items=50)
    claimed = taken()
    with transaction.atomic():
        cancelling.cancel_run(run, actor=process("test"), reason="taken twice")
    settling.settle(scored(claimed))
    assert events() == [("job.cancelled", "test", "taken twice"), ("job.cancelled", "worker", "its run is cancelled")]
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}


def test_a_success_needs_no_event_beside_its_results() -> None:
    make_run(items=1)
    claimed = taken()
    settling.settle(scored(claimed))
    assert (job_of(claimed).state, events()) == ("succeeded", [])


@pytest.mark.parametrize(
    ("machine", "state"),
    [(machine, state) for machine in (RUN, JOB) for state in sorted(machine.states - machine.initial)],
    ids=lambda value: value.table if isinstance(value, Machine) else value,
)
def test_the_database_refuses_a_run_or_a_job_born_in_a_later_state(machine: Machine, state: str) -> None:
    run = make_run(items=1)
    row: models.Model = run if machine is RUN else run.jobs.get()
    row.pk, row._state.adding = None, True
    row.state = state  # type: ignore[attr-defined]  # both have one
    if isinstance(row, Job):
        row.first, row.last = 9, 9
    with pytest.raises(IntegrityError, match="cannot begin as"), transaction.atomic():
        row.save()
