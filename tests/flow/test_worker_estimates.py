"""A routine order that is really sent aside by STAT: its page says when it stood still, and when it will be done."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.roles import Role
from engine_queue import selectors
from engine_queue.models import Job
from engine_queue.whereabouts import pauses_of
from foundation import clock
from tests.dashboard.people import logged_in, read
from tests.engine_queue.workers import Crowd, crowd
from tests.factories import BASES, make_actor, make_order, make_ready_intake, make_reference, make_test_version
from tests.flow.test_worker_urgency import run_of

pytestmark = pytest.mark.flow


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path, settings: object) -> Iterator[Crowd]:
    settings.STATIC_ROOT = None  # type: ignore[attr-defined]  # as the pages' own tests: nothing is collected here
    with crowd(tmp_path) as made:
        yield made


def test_a_routine_order_that_stat_interrupts_says_when_it_paused_and_resumed_and_when_it_will_end(workers: Crowd) -> None:
    narrow: dict[str, Any] = {"window": 1500, "slots": 4, "deployment": "narrow"}  # jobs of seconds; whoever runs is in every pass
    test = make_test_version(**narrow)
    other = make_test_version(**narrow, reference=make_reference(BASES[::-1]))  # no window is shared with the routine order
    prepared = make_ready_intake(test_version=other, variants=25)
    placer = make_actor(role=Role.ACCESSIONER, organisation=prepared.ordering_organisation)
    routine = make_order(intake=make_ready_intake(test_version=test, variants=75), priority="routine")
    workers.start("engine_worker", "--name", "engine-1", "--deployment", "narrow", "--credits", "1")
    workers.until(lambda: Job.objects.filter(engine_state="running", finish_high__isnull=False).exists(), 60, "a foresight")
    job = Job.objects.get(state="running")
    assert job.began_at and job.finish_low and job.finish_high and job.began_at < job.finish_low <= job.finish_high
    stat = make_order(intake=prepared, actor=placer, priority="stat")
    workers.until(lambda: run_of(stat).state == "scored", 60, "the STAT order")
    workers.until(lambda: Job.objects.filter(run=run_of(routine), state="succeeded").exists(), 60, "a routine job")
    client: Client = logged_in(Role.ANALYST, routine.performing_laboratory)
    page = read(client, "order", routine.pk)
    at = r"<time[^>]*>\d\d:\d\d:\d\d</time>"
    assert re.search(rf"Paused for more urgent work {at}<small>resumed {at}", page)
    assert re.search(r'id="expected">All scored between <b><time.*</time></b> and <b><time', page)
    pauses = pauses_of(selectors.parts(run_of(routine).pk), clock.now().timestamp())
    began, scored = run_of(stat).created_at.timestamp(), run_of(stat).scored_at
    assert scored is not None
    assert all(began < pause.since < scored.timestamp() for pause in pauses)
    assert selectors.parts(run_of(stat).pk) == []
