"""How an attempt ends: whole or not at all, once, and fenced."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import transaction

from engine_queue import claim, cutting, outcomes, settling
from engine_queue.errors import OutcomeRefused
from engine_queue.models import Job, Result, Run
from engine_queue.work import Claimed, ItemScore
from foundation.reasons import Reason
from orders.models import Order
from tests.engine_queue.rows import in_thread_of_its_own, job_of, make_run, returned, scored, scores_of, taken
from tests.factories import make_order


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> list[outcomes.Fact]:
    heard: list[outcomes.Fact] = []
    monkeypatch.setattr(outcomes, "_listeners", [heard.append])
    return heard


@pytest.mark.django_db
def test_results_counts_and_states_move_together(facts: list[outcomes.Fact]) -> None:
    run = make_run(items=30)
    claims = [taken(), taken()]
    claim.started(claims[0])
    assert settling.settle(scored(claims[0]))
    run.refresh_from_db()
    assert (run.state, run.items_done, run.results.count()) == ("running", 25, 25)
    assert settling.settle(scored(claims[1]))
    run.refresh_from_db()
    assert (run.state, run.items_done, run.results.count()) == ("scored", 30, 30)
    assert [fact.kind for fact in facts] == ["started", "results", "results", "scored"]


@pytest.mark.django_db
def test_a_run_whose_start_was_never_told_is_started_with_its_first_results(facts: list[outcomes.Fact]) -> None:
    make_run(items=1)
    settling.settle(scored(taken()))
    assert [fact.kind for fact in facts] == ["started", "results", "scored"]


@pytest.mark.django_db
def test_results_carry_the_version_of_the_order_that_their_commit_made() -> None:
    order = make_order(variants=30)
    for claimed in (taken(), taken()):
        settling.settle(scored(claimed))
        order.refresh_from_db()
        done = Result.objects.filter(run__order_id=order.pk, at_version__lte=order.version).count()
        assert order.items_done == done == Result.objects.count()
    assert order.state == "awaiting_review"


@pytest.mark.django_db
def test_an_item_that_failed_is_a_result_and_fails_no_other() -> None:
    run = make_run(items=3)
    claimed = taken()
    first, *others = scores_of(claimed)
    settling.settle(scored(claimed, scores=[ItemScore(first.item_id, failure=str(Reason.ITEM_NON_FINITE)), *others]))
    assert list(run.results.order_by("id").values_list("failure", flat=True)) == ["item.non-finite", "", ""]
    assert Run.objects.get(pk=run.pk).state == "scored"


@pytest.mark.django_db
def test_late_results_of_an_old_attempt_are_refused() -> None:
    run = make_run(items=1)
    old = taken(owner="worker/old")
    settling.settle(returned(old))
    new = taken(owner="worker/new")
    assert not settling.settle(scored(old))
    assert run.results.count() == 0
    assert settling.settle(scored(new))
    assert not settling.settle(scored(new))
    assert run.results.get().attempt == 2


@pytest.mark.django_db
def test_results_that_do_not_fit_the_job_are_refused_whole() -> None:
    run = make_run(items=2)
    claimed = taken()
    with pytest.raises(OutcomeRefused), transaction.atomic():
        settling.settle(scored(claimed, scores=scores_of(claimed)[:1]))
    assert run.results.count() == 0
    assert job_of(claimed).state == "running"


@pytest.mark.django_db
def test_what_a_listener_raises_undoes_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(fact: outcomes.Fact) -> None:
        raise LookupError(fact.kind)

    claimed = taken_of(make_run(items=1))
    monkeypatch.setattr(outcomes, "_listeners", [broken])
    with pytest.raises(LookupError), transaction.atomic():
        settling.settle(scored(claimed))
    assert Result.objects.count() == 0


def taken_of(run: Run) -> Claimed:
    claimed = taken()
    assert claimed.run_id == run.pk
    return claimed


@pytest.mark.django_db
def test_a_returned_job_is_queued_again_and_nobody_died() -> None:
    make_run(items=1)
    claimed = taken()
    settling.settle(returned(claimed))
    job = job_of(claimed)
    assert (job.state, job.deaths, job.attempt, job.lease_owner, job.attention) == ("queued", 0, 1, "", "")


@pytest.mark.django_db
def test_a_returned_job_with_a_reason_waits_for_a_person(facts: list[outcomes.Fact]) -> None:
    make_run(items=1)
    claimed = taken()
    settling.settle(returned(claimed, attention=str(Reason.REFERENCE_CHANGED)))
    assert job_of(claimed).attention == "reference.changed"
    assert [(fact.kind, fact.reason) for fact in facts] == [("attention", "reference.changed")]


@pytest.mark.django_db
def test_results_of_a_cancelled_job_are_not_written() -> None:
    run = make_run(items=1)
    claimed = taken()
    Job.objects.update(cancel_requested=True)
    assert settling.settle(scored(claimed))
    assert (job_of(claimed).state, run.results.count()) == ("cancelled", 0)


@pytest.mark.django_db
def test_each_result_lets_the_run_be_cut_further() -> None:
    run = make_run(items=cutting.JOB_ITEMS * 40, jobs=2)
    claimed = taken()
    Job.objects.filter(run=run, state="queued").update(state="cancelled")
    settling.settle(scored(claimed))
    assert run.jobs.filter(state="queued").count() == cutting.AHEAD


def test_two_finishers_of_the_last_two_jobs_do_not_leave_the_order_running(clone_db: str) -> None:
    order = make_order(variants=50)
    ready = threading.Barrier(2)

    def finish(outcome: object) -> None:
        ready.wait(10)
        settling.settle(outcome)  # type: ignore[arg-type]  # an Outcome

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(in_thread_of_its_own, finish, scored(taken())) for _ in range(2)]:
            done.result()
    order.refresh_from_db()
    assert (order.state, order.items_done) == ("awaiting_review", 50)
    assert Run.objects.get(order_id=order.pk).state == "scored"
    assert Order.objects.count() == 1
