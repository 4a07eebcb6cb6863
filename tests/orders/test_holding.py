"""A STAT order waits when two people say so: who asks, who answers, until when, and what is left when it comes otherwise."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import Error, IntegrityError, transaction

from accounts.models import Membership, User
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue.models import Job
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotPermitted
from orders import holding, services, urgency
from orders.errors import InvalidOrder
from orders.models import HoldRequest, Order
from tests.factories import make_actor, make_laboratory, make_order, make_organisation, make_ready_intake

pytestmark = pytest.mark.django_db


@pytest.fixture
def order() -> Order:
    return make_order(priority="stat")


def somebody(order: Order, role: Role = Role.DIRECTOR) -> Actor:
    return make_actor(role=role, organisation=order.performing_laboratory)


def placer(order: Order) -> Actor:
    return actor_for(User.objects.get(pk=order.placed_by_id))


def asked(order: Order, actor: Actor | None = None, **said: str) -> HoldRequest:
    return holding.ask(
        **{"order": order, "reason": "hold.specimen", "words": "two tubes", "actor": actor or somebody(order), **said}
    )  # type: ignore[arg-type]


def events(order: Order) -> list[str]:
    found = Event.objects.filter(object_id=str(order.pk), action__startswith="order.h").order_by("id")
    return list(found.values_list("action", flat=True))


def standing(order: Order) -> tuple[str, str, bool]:
    """State of its latest request, why it is on hold, and whether its work is."""
    order.refresh_from_db()
    return HoldRequest.objects.latest("pk").state, order.hold_reason, Job.objects.filter(run__order_id=order.pk, held=True).exists()


def test_until_a_second_person_agrees_the_work_goes_on(order: Order) -> None:
    asked(order)
    assert standing(order) == ("open", "", False)


def test_a_second_person_who_agrees_holds_it_in_both_names(order: Order) -> None:
    first, second = somebody(order), somebody(order, Role.REVIEWER)
    holding.confirm(request=asked(order, first), words="seen", actor=second)
    assert standing(order) == ("confirmed", "hold.specimen", True)
    event = Event.objects.get(action="order.held")
    assert (event.actor_id, event.facts["asked_by"], event.reason) == (second.id, str(first.id), "hold.specimen")
    request = HoldRequest.objects.get()
    assert (request.answered_by_id, request.answer, request.words) == (second.id, "seen", "two tubes")
    assert "seen" not in str(event.facts) and "two tubes" not in str(event.facts)


def test_who_placed_it_can_be_the_second_person_without_a_right_to_hold() -> None:
    intake = make_ready_intake(organisation=make_organisation())
    requester = make_actor(role=Role.REQUESTER, organisation=intake.ordering_organisation)
    of_theirs = make_order(intake=intake, priority="stat", actor=requester)
    holding.confirm(request=asked(of_theirs), words="yes", actor=requester)
    assert standing(of_theirs)[1] == "hold.specimen"


def test_nobody_is_his_own_second_person_not_even_in_the_database(order: Order) -> None:
    first = somebody(order)
    request = asked(order, first)
    with pytest.raises(urgency.TwoPeople):
        holding.confirm(request=request, words="yes", actor=first)
    with pytest.raises(IntegrityError, match="hold_confirmed_by_another"), transaction.atomic():
        HoldRequest.objects.update(state="confirmed", answered_by_id=first.id)
    assert standing(order) == ("open", "", False)


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.OPERATOR, Role.SERVICE, Role.ADMINISTRATOR])
def test_who_may_not_hold_neither_asks_nor_answers(order: Order, role: Role) -> None:
    other = somebody(order, role)
    with pytest.raises(NotPermitted):
        asked(order, other)
    request = asked(order)
    for answer in (holding.confirm, holding.decline):
        with pytest.raises(NotPermitted):
            answer(request=request, words="yes", actor=other)
    assert standing(order) == ("open", "", False)


def test_a_director_of_another_laboratory_is_a_stranger(order: Order) -> None:
    stranger = make_actor(role=Role.DIRECTOR, organisation=make_laboratory())
    with pytest.raises(NotPermitted):
        asked(order, stranger)
    with pytest.raises(NotPermitted):
        holding.confirm(request=asked(order), words="yes", actor=stranger)


def test_the_same_person_asking_twice_has_asked_once_and_another_one_is_told(order: Order) -> None:
    first = somebody(order)
    assert asked(order, first).pk == asked(order, first).pk
    with pytest.raises(holding.Asked):
        asked(order)
    assert events(order) == ["order.hold_asked"]


def test_a_declined_request_leaves_the_order_alone_and_may_be_followed_by_another(order: Order) -> None:
    holding.decline(request=asked(order), words="the tube is ours", actor=somebody(order))
    assert standing(order) == ("declined", "", False)
    holding.confirm(request=asked(order), words="now", actor=somebody(order))
    assert events(order) == ["order.hold_asked", "order.hold_declined", "order.hold_asked", "order.held"]


def test_only_who_asked_takes_it_back(order: Order) -> None:
    first = somebody(order)
    request = asked(order, first)
    with pytest.raises(NotPermitted):
        holding.withdraw(request=request, actor=somebody(order))
    holding.withdraw(request=request, actor=first)
    with pytest.raises(holding.Answered):
        holding.confirm(request=request, words="yes", actor=somebody(order))
    assert standing(order) == ("withdrawn", "", False)


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    then = clock.now() + holding.OPEN_FOR + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: then)


def test_a_request_that_nobody_answers_ends_and_leaves_a_trace(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked(order)
    assert holding.expire() == 0
    later(monkeypatch)
    with pytest.raises(holding.Answered):
        holding.confirm(request=request, words="too late", actor=somebody(order))
    assert (holding.expire(), holding.expire()) == (1, 0)
    assert standing(order) == ("expired", "", False)
    assert events(order) == ["order.hold_asked", "order.hold_expired"]


def test_one_that_ran_out_a_moment_ago_is_no_obstacle_to_another(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(order)
    later(monkeypatch)
    asked(order)
    assert events(order) == ["order.hold_asked", "order.hold_expired", "order.hold_asked"]


def cancelled(order: Order) -> None:
    services.cancel(actor=somebody(order), order=order, reason="taken twice", expected_edits=order.edits)


def held_by_the_placer(order: Order) -> None:
    urgency.hold(order=order, reason="hold.requester", actor=placer(order))


def demoted_by_the_placer(order: Order) -> None:
    Membership.objects.create(
        user_id=order.placed_by_id, organisation=order.performing_laboratory, role=Role.DIRECTOR, granted_at=clock.now()
    )
    urgency.change_priority(order=order, priority="asap", reason="no fever", actor=placer(order))


@pytest.mark.parametrize("deed", [cancelled, held_by_the_placer, demoted_by_the_placer])
def test_what_came_otherwise_needs_no_answer_any_more(order: Order, deed: Callable[[Order], None]) -> None:
    request = asked(order)
    order.refresh_from_db()
    deed(order)
    with pytest.raises(HelicaseError):
        holding.confirm(request=request, words="yes", actor=somebody(order))
    assert HoldRequest.objects.get().state == "void"
    assert events(order).count("order.held") == (deed is held_by_the_placer)


def test_a_request_outdates_no_page_on_which_somebody_types(order: Order) -> None:
    asked(order)
    services.cancel(actor=somebody(order), order=order, reason="taken twice", expected_edits=order.edits)
    assert Order.objects.get().state == "cancelled"


def test_who_has_left_since_he_asked_holds_nothing(order: Order) -> None:
    first = somebody(order)
    request = asked(order, first)
    Membership.objects.filter(user_id=first.id).update(ended_at=clock.now())
    with pytest.raises(HelicaseError, match="may not hold this order any more"):
        holding.confirm(request=request, words="yes", actor=somebody(order))
    assert standing(order) == ("open", "", False)


def test_what_needs_no_second_person_is_not_asked(order: Order) -> None:
    with pytest.raises(holding.Alone):
        asked(order, placer(order))
    with pytest.raises(holding.Alone):
        asked(make_order())


@pytest.mark.parametrize("said", [{"reason": "because"}, {"words": "x" * 301}])
def test_a_request_wants_a_coded_reason_and_words_that_fit(order: Order, said: dict[str, str]) -> None:
    with pytest.raises(InvalidOrder):
        asked(order, **said)
    assert not HoldRequest.objects.exists()


@pytest.mark.parametrize("words", ["", " \n", "x" * 301])
def test_an_answer_wants_words_that_fit(order: Order, words: str) -> None:
    request = asked(order)
    for answer in (holding.confirm, holding.decline):
        with pytest.raises(InvalidOrder):
            answer(request=request, words=words, actor=somebody(order))
    assert standing(order) == ("open", "", False)


def test_what_was_asked_and_answered_stays_as_it_was_said(order: Order) -> None:
    holding.decline(request=asked(order), words="no", actor=somebody(order))
    for change in ({"reason": "hold.input"}, {"words": "other"}, {"expires_at": clock.now()}):
        with pytest.raises(Error, match="permission denied"), transaction.atomic():
            HoldRequest.objects.update(**change)
    with pytest.raises(IntegrityError, match="cannot go"), transaction.atomic():
        HoldRequest.objects.update(state="open")
    with pytest.raises(Error, match="permission denied"), transaction.atomic():
        HoldRequest.objects.all().delete()
