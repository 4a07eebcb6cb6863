"""When a whole stands still, made from its parts; what a worker writes of its jobs, and what it leaves alone."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine_queue import moving, outcomes, selectors, settling
from engine_queue.models import Job, Run
from engine_queue.outcomes import Fact
from engine_queue.reporter import PERIOD_SECONDS, Reporter
from engine_queue.whereabouts import KEPT, Part, Pause, Whereabouts, pauses_of
from engine_queue.work import Claimed
from foundation.actor import process
from tests.engine_queue.rows import job_of, make_run, scored, taken

pytestmark = pytest.mark.django_db
FROZEN = Pause("frozen", 10.0, 12.0)


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([Part(1.0, 20.0)], ()),
        ([Part(1.0, 20.0, [FROZEN])], (FROZEN,)),
        ([Part(1.0, 20.0, [FROZEN]), Part(1.0, 20.0, [FROZEN])], (FROZEN,)),
        ([Part(1.0, 20.0, [FROZEN]), Part(5.0, 11.0)], (Pause("frozen", 11.0, 12.0),)),
        ([Part(1.0, 20.0, [FROZEN]), Part(None, None)], (FROZEN,)),
        ([Part(1.0, 20.0, [FROZEN]), Part(1.0, 30.0)], ()),
        ([Part(1.0, 11.0), Part(1.0, None, [Pause("evicted", 10.0)])], (Pause("evicted", 11.0),)),
        ([Part(1.0, None, [FROZEN, Pause("evicted", 40.0)])], (FROZEN, Pause("evicted", 40.0))),
        ([Part(1.0, 20.0, [Pause("frozen", 10.0, 10.004)])], ()),
        ([Part(11.0, 20.0, [FROZEN])], (Pause("frozen", 11.0, 12.0),)),
    ],
)
def test_a_whole_stands_still_while_a_part_does_and_no_other_runs(parts: list[Part], found: tuple[Pause, ...]) -> None:
    assert pauses_of(parts, 50.0) == found


def test_no_more_pauses_are_kept_than_a_page_can_bear() -> None:
    many = [Pause("frozen", float(n), n + 0.5) for n in range(1, 3 * KEPT)]
    assert pauses_of([Part(0.0, None, many)], 1000.0) == tuple(many[-KEPT:])


class Engines:
    """Says what a test wants to be said; how long an engine computes cannot be provoked."""

    def __init__(self, *claimed: Claimed) -> None:
        self.claimed, self.counter = claimed, 0
        self.says: dict[int, Whereabouts] = {one.job_id: Whereabouts("running", 100.0, (), 200.0, 300.0, 2) for one in claimed}

    def shifts(self) -> int:
        return self.counter

    def whereabouts(self) -> dict[int, tuple[Claimed, Whereabouts]]:
        return {one.job_id: (one, self.says[one.job_id]) for one in self.claimed}

    def say(self, **changes: object) -> None:
        self.counter += 1
        for job, before in self.says.items():
            self.says[job] = Whereabouts(**{**vars(before), **changes})  # type: ignore[arg-type]  # as a test says


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def told(reporter: Reporter) -> tuple[int, int]:
    """Jobs written by one look, and the statements it took."""
    with CaptureQueriesContext(connection) as asked:
        written = reporter.look()
    return written, sum("UPDATE" in query["sql"].partition("FOR UPDATE")[0] for query in asked)


def test_one_statement_tells_of_all_jobs_and_not_more_often_than_once_a_second() -> None:
    make_run(items=75)
    engines, clock = Engines(taken(), taken(), taken()), Clock()
    reporter = Reporter(engines, "worker/1", monotonic=clock)
    assert told(reporter) == (3, 1)
    job = job_of(engines.claimed[0])
    assert (job.engine_state, job.engine_ahead, job.pauses) == ("running", 2, [])
    assert [moment and moment.timestamp() for moment in (job.began_at, job.finish_low, job.finish_high)] == [100.0, 200.0, 300.0]
    clock.now += PERIOD_SECONDS / 2
    assert told(reporter) == (0, 0)
    clock.now += PERIOD_SECONDS
    assert told(reporter) == (3, 1)


def test_a_pause_and_its_end_are_told_at_once_and_go_up_as_a_fact(heard: list[Fact]) -> None:
    run = make_run(items=1)
    engines = Engines(taken())
    reporter = Reporter(engines, "worker/1", monotonic=Clock())
    reporter.look()
    engines.say(state="paused", pauses=(Pause("frozen", 150.0),))
    assert told(reporter)[0] == 1
    engines.say(state="running", pauses=(Pause("frozen", 150.0, 152.0),))
    assert told(reporter)[0] == 1
    assert Job.objects.get().pauses == [{"attempt": 1, "how": "frozen", "since": 150.0, "until": 152.0}]
    assert [(fact.kind, fact.run.pk) for fact in heard] == [("moved", run.pk)] * 3
    assert told(reporter) == (0, 0)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Fact]:
    found: list[Fact] = []
    monkeypatch.setattr(outcomes, "_listeners", [*outcomes._listeners, found.append])
    return found


def test_an_attempt_that_is_over_says_nothing_and_what_former_ones_said_stays() -> None:
    make_run(items=1)
    first = taken()
    engines = Engines(first)
    engines.say(pauses=(Pause("frozen", 150.0, 152.0),))
    reporter = Reporter(engines, "worker/1", monotonic=Clock())
    reporter.look()
    moving.put_back(job_of(first), died=False, attention="", actor=process("test"), reason="test")
    job = job_of(first)
    assert (job.engine_state, job.finish_high, len(job.pauses)) == ("", None, 1)
    engines.say(state="paused")
    assert told(reporter)[0] == 0
    second = Engines(taken(owner="worker/2"))
    second.say(began=155.0, pauses=(Pause("evicted", 160.0, 163.0),))
    Reporter(second, "worker/2", monotonic=Clock()).look()
    assert [(one["attempt"], one["how"]) for one in Job.objects.get().pauses] == [(1, "frozen"), (2, "evicted")]
    now = pauses_of(selectors.parts(Run.objects.get().pk), 500.0)
    assert [(one.how, one.since, one.until) for one in now] == [("frozen", 150.0, 152.0), ("evicted", 160.0, 163.0)]


def test_a_job_that_ends_before_anybody_told_of_it_tells_it_with_its_results() -> None:
    make_run(items=1)
    claimed = taken()
    found = Whereabouts("waiting", 100.0, (Pause("evicted", 110.0, 111.0),))
    outcome = scored(claimed)
    assert settling.settle(type(outcome)(**{**vars(outcome), "found": found}))
    job = job_of(claimed)
    assert (job.state, job.engine_state) == ("succeeded", "")
    assert job.began_at and job.began_at.timestamp() == 100.0
    assert job.pauses == [{"attempt": 1, "how": "evicted", "since": 110.0, "until": 111.0}]


def test_a_run_that_never_stood_still_has_nothing_to_tell() -> None:
    run = make_run(items=1)
    taken()
    assert selectors.parts(run.pk) == []
