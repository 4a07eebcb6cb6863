"""The finisher keeps an outcome until it is committed or fenced, whatever happens to the database."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from engine_queue import finisher as finisher_module
from engine_queue import outcomes, settling
from engine_queue.finisher import REFUSALS, Finisher
from engine_queue.models import Run
from engine_queue.work import Outcome
from tests.engine_queue.rows import job_of, make_run, scored, taken
from tests.services import Services


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finisher_module, "_PAUSES", (0.01,))


@pytest.fixture
def finisher() -> Iterator[Finisher]:
    made = Finisher()
    made.start()
    yield made
    made.stop()


class Recorder:
    """Stands for the database: says what it was asked to write, and fails as told."""

    def __init__(self, *failures: Exception) -> None:
        self.failures, self.written, self.asked = list(failures), [], 0  # type: ignore[var-annotated]

    def __call__(self, outcome: Outcome) -> bool:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        self.written.append(outcome.claimed.rank)
        return True


def outcome(rank: int = 3, settled: threading.Event | None = None) -> Outcome:
    from uuid import uuid4

    from engine_queue.work import Claimed

    claimed = Claimed(1, uuid4(), 1, "worker/1", "deployment", rank, 0, 0, 0)
    return Outcome(claimed, "scored", settle=settled.set if settled else lambda: None)


def run(*, settle: Recorder, given: list[Outcome]) -> None:
    made = Finisher(settle=settle)
    for one in given:
        made.put(one)
    made.start()
    assert made.flush(10)
    made.stop()


def test_the_most_urgent_outcome_is_written_first() -> None:
    settle = Recorder()
    run(settle=settle, given=[outcome(3), outcome(1), outcome(0), outcome(3)])
    assert settle.written == [0, 1, 3, 3]


def test_an_absent_database_is_asked_until_it_answers() -> None:
    settle, settled = Recorder(*[OperationalError("away")] * 20), threading.Event()
    run(settle=settle, given=[outcome(settled=settled)])
    assert (settle.asked, settled.is_set()) == (21, True)


def test_a_full_buffer_says_so() -> None:
    made = Finisher(buffer=2)
    made.put(outcome())
    assert not made.full
    made.put(outcome())
    assert made.full


def test_it_survives_the_loss_of_its_connection(clone_db: str, services: Services, finisher: Finisher) -> None:
    made = make_run(items=50)
    first, second = taken(), taken()
    finisher.put(scored(first))
    assert finisher.flush(10)
    _terminate_others(services)
    finisher.put(scored(second))
    assert finisher.flush(10)
    assert Run.objects.get(pk=made.pk).state == "scored"


def test_a_connection_lost_within_the_transaction_commits_once(
    clone_db: str, services: Services, finisher: Finisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_run(items=1)
    claimed = taken()
    losses = [True]

    def lose_once(fact: outcomes.Fact) -> None:
        if fact.kind == "results" and losses:
            losses.pop()
            with psycopg.connect(services.postgres.url(), autocommit=True) as superuser:
                superuser.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])

    monkeypatch.setattr(outcomes, "_listeners", [lose_once])
    finisher.put(scored(claimed))
    assert finisher.flush(10)
    assert (made.results.count(), losses) == (1, [])


def test_an_outcome_that_cannot_be_written_waits_for_a_person(
    clone_db: str, finisher: Finisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(items=1)
    claimed, tries = taken(), []

    def broken(fact: outcomes.Fact) -> None:
        if fact.kind == "results":
            tries.append(fact)
            raise LookupError

    monkeypatch.setattr(outcomes, "_listeners", [broken])
    finisher.put(scored(claimed))
    assert finisher.flush(10)
    assert (job_of(claimed).state, job_of(claimed).attention, len(tries)) == ("queued", "job.outcome-refused", REFUSALS)


def test_a_fenced_outcome_is_let_go(clone_db: str, finisher: Finisher) -> None:
    make_run(items=1)
    claimed = taken()
    settling.settle(scored(claimed))
    finisher.put(scored(claimed))
    assert finisher.flush(10)
    assert job_of(claimed).attempt == 1


def _terminate_others(services: Services) -> None:
    name = connections.settings["default"]["NAME"]
    with psycopg.connect(services.postgres.url(), autocommit=True) as superuser:
        superuser.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
    connection.close()
