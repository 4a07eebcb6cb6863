"""Tickets go out after the commit, by rank; a broker that is away breaks nothing."""

from collections.abc import Iterator

import pytest
import redis
from django.db import transaction
from structlog.testing import capture_logs

from engine_queue import tickets
from engine_queue.models import Job
from tests.engine_queue.rows import make_run, taken
from tests.engine_queue.workers import DEPLOYMENT, sending_to
from tests.factories import make_order

ROUTINE, STAT = tickets.routine_queue(DEPLOYMENT), tickets.stat_queue(DEPLOYMENT)


@pytest.fixture(autouse=True)
def broker(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
def no_broker() -> Iterator[None]:
    with sending_to("redis://127.0.0.1:1/0"):
        yield


@pytest.mark.django_db
def test_the_rank_says_which_queue(broker: redis.Redis) -> None:
    for rank in (0, 1, 3):
        tickets.send(list(make_run(items=1, rank=rank).jobs.all()))
    assert (broker.llen(STAT), broker.llen(ROUTINE)) == (1, 2)


@pytest.mark.django_db
def test_a_sent_ticket_is_noted_on_its_job() -> None:
    run = make_run(items=1)
    tickets.send(list(run.jobs.all()))
    job = run.jobs.get()
    assert job.tickets == 1
    assert job.ticket_at is not None


@pytest.mark.django_db
def test_a_job_already_claimed_needs_no_note() -> None:
    run = make_run(items=1)
    taken()
    tickets.send(list(run.jobs.all()))
    assert run.jobs.get().tickets == 0


def test_nothing_is_sent_for_a_transaction_that_did_not_commit(clone_db: str, broker: redis.Redis) -> None:
    run = make_run(items=1)
    with pytest.raises(LookupError), transaction.atomic():
        tickets.send_on_commit(run.jobs.all())
        raise LookupError
    assert broker.llen(ROUTINE) == 0


def test_placing_an_order_sends_a_ticket_for_each_job_cut(clone_db: str, broker: redis.Redis) -> None:
    make_order(variants=60, priority="stat")
    assert broker.llen(STAT) == Job.objects.count() == 3


def test_an_absent_broker_never_breaks_the_commit(clone_db: str, no_broker: None) -> None:
    with capture_logs() as said:
        order = make_order(variants=30)
    assert order.state == "accepted"
    assert [(line["event"], line["unsent"]) for line in said] == [("tickets.broker_away", 2)]
    assert set(Job.objects.values_list("state", "tickets", "ticket_at")) == {("queued", 0, None)}
