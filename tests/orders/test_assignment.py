"""Whose work an order is: taken, given, given back, and nobody's as soon as its person may not work on it any more."""

import pytest
from django.contrib.auth import get_user_model

from accounts.models import Membership
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted, Stale
from orders import assignment, services
from orders.models import Order
from orders.urgency import Closed
from tests.factories import make_actor, make_laboratory, make_order, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def order() -> Order:
    return make_order()


def events(order: Order) -> list[tuple[str, str, str]]:
    rows = Event.objects.filter(object_id=str(order.pk), action__in=["order.assigned", "order.unassigned"]).order_by("id")
    return [(event.action, event.facts["before"], event.facts["assignee"]) for event in rows]


def test_an_order_is_taken_given_to_a_colleague_and_given_back_and_each_is_an_event(order: Order) -> None:
    mine = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    colleague = make_user(role=Role.REVIEWER, organisation=order.performing_laboratory)
    assignment.take(order=order, actor=mine, expected_edits=1)
    assignment.assign(order=order, to=colleague.pk, actor=mine, expected_edits=2)
    assignment.assign(order=order, to=None, actor=actor_for(colleague), expected_edits=3)
    order.refresh_from_db()
    assert (order.assignee, order.edits) == (None, 4)
    assert events(order) == [
        ("order.assigned", "", str(mine.id)),
        ("order.assigned", str(mine.id), str(colleague.pk)),
        ("order.unassigned", str(colleague.pk), ""),
    ]


def test_who_saw_an_older_state_takes_nothing_from_the_colleague_who_was_first(order: Order) -> None:
    first, second = (make_actor(role=Role.ANALYST, organisation=order.performing_laboratory) for _ in range(2))
    assignment.take(order=order, actor=first, expected_edits=1)
    with pytest.raises(Stale):
        assignment.take(order=order, actor=second, expected_edits=1)
    with pytest.raises(assignment.Unchanged):
        assignment.take(order=order, actor=first, expected_edits=2)
    order.refresh_from_db()
    assert order.assignee_id == first.id


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.ANALYST, Role.REVIEWER, Role.DIRECTOR}))
def test_who_does_not_work_on_orders_neither_takes_nor_is_given_any(order: Order, role: Role) -> None:
    other = make_user(role=role, organisation=order.performing_laboratory)
    analyst = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    with pytest.raises(NotPermitted):
        assignment.take(order=order, actor=actor_for(other), expected_edits=1)
    with pytest.raises(assignment.NotAColleague):
        assignment.assign(order=order, to=other.pk, actor=analyst, expected_edits=1)


def test_a_stranger_neither_takes_an_order_nor_is_given_one(order: Order) -> None:
    stranger = make_user(role=Role.DIRECTOR, organisation=make_laboratory())
    analyst = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    with pytest.raises(NotPermitted):
        assignment.take(order=order, actor=actor_for(stranger), expected_edits=1)
    with pytest.raises(assignment.NotAColleague):
        assignment.assign(order=order, to=stranger.pk, actor=analyst, expected_edits=1)
    assert events(order) == []


def test_a_closed_order_is_nobodys_work_any_more(order: Order) -> None:
    director = make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)
    services.cancel(actor=director, order=order, reason="twice", expected_edits=1)
    with pytest.raises(Closed):
        assignment.take(order=order, actor=director, expected_edits=2)


LEAVING = {
    "account closed": lambda user: get_user_model().objects.filter(pk=user.pk).update(is_active=False),
    "membership ended": lambda user: Membership.objects.filter(user=user).update(ended_at=clock.now()),
    "another role": lambda user: _becomes(user, Role.OPERATOR),
}


def _becomes(user, role: Role) -> None:
    mine = Membership.objects.filter(user=user)
    mine.update(ended_at=clock.now())
    Membership.objects.create(user=user, organisation=mine.get().organisation, role=role, granted_at=clock.now())


@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
def test_whatever_way_somebody_leaves_his_open_work_is_nobodys_and_says_whose_it_was(order: Order, leave) -> None:
    leaver = make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    assignment.take(order=order, actor=actor_for(leaver), expected_edits=1)
    assert assignment.release_leavers() == 0
    leave(leaver)
    assert (assignment.release_leavers(), assignment.release_leavers()) == (1, 0)
    order.refresh_from_db()
    assert (order.assignee, order.left_by, order.edits) == (None, leaver, 3)
    assert Event.objects.filter(action="order.unassigned", reason="assignee.left", actor_id=None).count() == 1
    colleague = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    assignment.take(order=order, actor=colleague, expected_edits=3)
    order.refresh_from_db()
    assert order.left_by is None
