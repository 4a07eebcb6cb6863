"""What the engine page and the worklist show, and what health checks are told."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engine_queue import lease, line, selectors
from engine_queue.models import Run, Worker
from foundation import clock
from tests.engine_queue.rows import make_run, taken
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_test_version

pytestmark = pytest.mark.django_db


def test_workers_are_shown_with_their_figures_the_living_first() -> None:
    for name in ("a", "b"):
        held = lease.take_name(name, kind="engine")
        held.announce(deployments=[DEPLOYMENT], fingerprints={DEPLOYMENT: "f"})
        held.extend({"running": 3, "waiting": 2, "held": 1, "tokens_per_second": 4.5})
    Worker.objects.filter(name="a").update(lease_until=clock.now() - timedelta(seconds=1))
    first, second = selectors.workers()
    assert (first.name, first.alive, second.name, second.alive) == ("b", True, "a", False)
    assert (first.deployments, first.running, first.waiting, first.held, first.tokens_per_second) == ([DEPLOYMENT], 3, 2, 1, 4.5)


@pytest.mark.parametrize("wrong", [timedelta(hours=-1), timedelta(hours=1)])
def test_who_lives_is_asked_of_the_database_whatever_time_this_process_thinks_it_is(
    wrong: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = clock._source
    monkeypatch.setattr(clock, "_source", lambda: right() + wrong)
    held = lease.take_name("a", kind="engine")
    assert [worker.alive for worker in selectors.workers()] == [True]
    held.give_back()
    assert [worker.alive for worker in selectors.workers()] == [False]


def test_a_position_counts_the_jobs_that_start_before() -> None:
    soon = clock.now() + timedelta(minutes=1)
    run = make_run(items=30)
    next_one, stat = make_run(items=75, due=soon), make_run(items=25, rank=0)
    last = make_run(items=25, due=clock.now() + timedelta(days=2))
    everybody = [each.pk for each in (run, next_one, stat, last)]
    assert selectors.positions(everybody) == {stat.pk: 0, next_one.pk: 1, run.pk: 4, last.pk: 6}
    for _ in range(6):
        taken()
    assert selectors.positions(everybody) == {last.pk: 0}


def test_a_position_is_one_in_the_line_of_its_own_deployment() -> None:
    make_run(items=75, rank=0)
    other = make_run(items=25, test=make_test_version(deployment="other"))
    assert selectors.positions([other.pk]) == {other.pk: 0}


def test_what_waits_for_a_person_is_in_nobody_s_way() -> None:
    make_run(items=1, rank=0).jobs.update(attention="job.worker-died")
    run = make_run(items=1)
    assert selectors.positions([run.pk]) == {run.pk: 0}


def test_what_is_said_of_a_run_is_the_same_whichever_others_are_asked_about_with_it() -> None:
    now, tests = clock.now(), [make_test_version(), make_test_version(deployment="other")]
    runs = [make_run(items=1 + n % 3, rank=n * 5 % 4, due=now + timedelta(hours=n % 3), test=tests[n % 2]) for n in range(12)]
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(tokens=7)
    taken()
    together, orderly = line.places_of_runs([run.pk for run in runs]), sorted(runs, key=lambda run: (run.rank, run.due_at, run.pk))
    assert len(together) == len(runs)
    for run in runs:
        before = [one for one in orderly[: orderly.index(run)] if one.deployment_id == run.deployment_id]
        assert together[run.pk].items_ahead == sum(one.items_total for one in before)
        assert line.places_of_runs([run.pk]) == {run.pk: together[run.pk]}
    positions = selectors.positions([run.pk for run in runs])
    assert {pk: place for run in runs for pk, place in selectors.positions([run.pk]).items()} == positions


def health(name: str) -> tuple[dict[str, Any], str]:
    """The figures and the fault that `worker_health --json` gives of a worker."""
    out = StringIO()
    try:
        call_command("worker_health", "--name", name, "--json", stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue()), str(error)
    return json.loads(out.getvalue()), ""


def test_health_gives_every_figure_of_the_engines_and_says_when_one_is_not_ready() -> None:
    held = lease.take_name("engine-9", kind="engine")
    engines = {DEPLOYMENT: {"tokens_trunk": 7, "watchdog_trips": 0}}
    held.extend({"running": 3, "complaint": "", "engines": engines})
    figures, fault = health("engine-9")
    assert (figures["name"], figures["running"], figures["engines"], fault) == ("engine-9", 3, engines, "")
    held.extend({"complaint": f"{DEPLOYMENT}: step 7 has run for 20 s"})
    figures, fault = health("engine-9")
    assert fault == figures["fault"] == f"an engine of worker engine-9 is not ready: {DEPLOYMENT}: step 7 has run for 20 s"


def test_health_of_a_worker_that_never_was_has_no_figures() -> None:
    assert health("nobody") == ({"fault": "no worker nobody has ever started"}, "no worker nobody has ever started")
