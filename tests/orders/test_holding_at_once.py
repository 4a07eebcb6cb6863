"""Several people at the same moment: one of them is first, the others are told, and nothing is there twice."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from accounts.models import User
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue.models import Job, Run
from foundation.actor import Actor
from foundation.errors import HelicaseError
from orders import demotions, holding, services, urgency
from orders.models import Demotion, HoldRequest, Order
from tests.engine_queue.rows import in_thread_of_its_own
from tests.factories import make_actor, make_order

PEOPLE = 6


@pytest.fixture
def order(clone_db: str, valkey_url: str) -> Iterator[Order]:
    yield make_order(priority="stat")


def somebody(order: Order) -> Actor:
    return make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)


def at_once(deeds: list[Callable[[], object]]) -> list[str]:
    """What became of each: blank, or the name of its refusal."""
    start = threading.Barrier(len(deeds))

    def act(deed: Callable[[], object]) -> str:
        start.wait(20)
        try:
            deed()
        except HelicaseError as error:
            return type(error).__name__
        return ""

    with ThreadPoolExecutor(len(deeds)) as pool:
        return sorted(pool.map(lambda deed: in_thread_of_its_own(lambda: act(deed)), deeds))


def test_of_those_who_ask_at_once_one_has_asked(order: Order) -> None:
    people = [somebody(order) for _ in range(PEOPLE)]
    found = at_once([lambda one=one: holding.ask(order=order, reason="hold.input", words="", actor=one) for one in people])  # type: ignore[misc]
    assert found == ["", *["Asked"] * (PEOPLE - 1)]
    assert HoldRequest.objects.count() == 1


def test_of_those_who_answer_at_once_one_has_answered(order: Order) -> None:
    request = holding.ask(order=order, reason="hold.input", words="", actor=somebody(order))
    people = [somebody(order) for _ in range(PEOPLE)]
    found = at_once([lambda one=one: holding.confirm(request=request, words="yes", actor=one) for one in people])  # type: ignore[misc]
    assert found == ["", *["Answered"] * (PEOPLE - 1)]
    assert Order.objects.get().edits == order.edits + 1


def test_cancelled_held_and_promoted_at_once_it_is_cancelled_or_goes_on_whole(order: Order) -> None:
    request = holding.ask(order=order, reason="hold.input", words="", actor=somebody(order))
    first, second, third = (somebody(order) for _ in range(3))
    found = at_once([
        lambda: services.cancel(actor=first, order=order, reason="twice", expected_edits=order.edits),
        lambda: holding.confirm(request=request, words="yes", actor=second),
        lambda: urgency.change_priority(order=order, priority="asap", reason="better", actor=third, expected_edits=order.edits),
    ])  # fmt: skip
    order.refresh_from_db()
    run, jobs = Run.objects.get(order_id=order.pk), list(Job.objects.all())
    assert "" in found
    assert (order.state == "cancelled") == (run.state == "cancelled") == all(job.state == "cancelled" for job in jobs)
    assert HoldRequest.objects.get().state in ("confirmed", "void") or order.state != "cancelled"
    if order.state != "cancelled":
        assert run.held == bool(order.hold_reason) and {(job.held, job.rank) for job in jobs} == {(run.held, order.rank)}


def test_who_demotes_and_holds_at_once_holds_nothing(order: Order) -> None:
    one = somebody(order)
    found = at_once([
        lambda: urgency.change_priority(order=order, priority="urgent", reason="better", actor=one),
        *[lambda: urgency.hold(order=order, reason="hold.input", actor=one)] * (PEOPLE - 1),
    ])  # fmt: skip
    assert found == ["", *["TwoPeople"] * (PEOPLE - 1)]
    assert (Order.objects.get().priority, Order.objects.get().hold_reason) == ("urgent", "")


def test_of_one_who_holds_and_one_who_makes_it_stat_at_once_the_first_has_his_way(clone_db: str, valkey_url: str) -> None:
    order = make_order(priority="urgent")
    first, second = somebody(order), somebody(order)
    found = at_once([
        lambda: urgency.hold(order=order, reason="hold.input", actor=first),
        lambda: urgency.change_priority(order=order, priority="stat", reason="sepsis", actor=second),
    ])  # fmt: skip
    order.refresh_from_db()
    assert (found, order.priority, order.hold_reason) in (
        (["", "HeldByOne"], "urgent", "hold.input"), (["", "TwoPeople"], "stat", ""),
    )  # fmt: skip


def test_who_reads_at_once_has_read_once(order: Order) -> None:
    urgency.change_priority(order=order, priority="urgent", reason="better", actor=somebody(order))
    last, placer = Demotion.objects.get().pk, actor_for(User.objects.get(pk=order.placed_by_id))
    assert at_once([lambda: demotions.read(order=order, last=last, actor=placer)] * PEOPLE) == [""] * PEOPLE
    assert Event.objects.filter(action="order.demotion_read").count() == 1
