"""Priority and hold from the order's page: what is offered to whom, what is done, and what is refused in words."""

import pytest
from django.urls import reverse

from accounts.roles import Role
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


def ask(client, order: Order, do: str, **said: str):
    data = {"do": do, "edits": Order.objects.get(pk=order.pk).edits, **said}
    return client.post(reverse("order-urgency", args=[order.pk]), data, follow=True)


def test_an_order_is_promoted_and_its_page_tells_so(ward: Ward) -> None:
    order, client = ward.order(), ward.analyst()
    assert "urgency-link" in read(client, "order", order.pk)
    page = ask(client, order, "priority", priority="asap", reason="fever").content.decode()
    assert "has another priority now" in page and "Made more urgent" in page and "routine → asap, by" in page
    assert Order.objects.get().priority == "asap"


def test_an_order_is_held_says_why_and_goes_on(ward: Ward) -> None:
    order, client = ward.order(), ward.analyst()
    page = ask(client, order, "hold", hold="hold.specimen").content.decode()
    assert "is on hold" in page and "On hold: A question about the specimen" in page and "on hold</" in page
    assert "Let it go on" in read(client, "order-urgency", order.pk)
    page = ask(client, order, "release").content.decode()
    assert "goes on" in page and "On hold:" not in page


@pytest.mark.parametrize(
    ("do", "said", "words"),
    [
        ("priority", {"priority": "asap", "reason": " "}, "Say why the priority changes."),
        ("priority", {"priority": "routine", "reason": "x"}, "The order is Routine already."),
        ("priority", {"reason": "x"}, "Choose STAT, ASAP"), ("hold", {"hold": "no"}, "Choose why the order waits."),
        ("release", {}, "This order is not on hold."), ("sing", {}, "nothing that can be done"),
        ("hold", {"hold": "hold.input", "edits": "99"}, "Somebody else changed this first"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_on_the_same_page(ward: Ward, do: str, said: dict[str, str], words: str) -> None:
    order = ward.order()
    response = ask(ward.analyst(), order, do, **said)
    assert response.status_code == 409 and words in response.content.decode()
    assert (Order.objects.get().priority, Order.objects.get().hold_reason) == ("routine", "")


def test_a_stat_order_that_another_placed_is_not_held_from_the_page(ward: Ward) -> None:
    response = ask(ward.analyst(), ward.order(priority="stat"), "hold", hold="hold.input")
    assert response.status_code == 409 and "two people" in response.content.decode()


def test_each_role_is_offered_what_it_may_do(ward: Ward) -> None:
    order = ward.order()
    offered = {}
    for role in (Role.REQUESTER, Role.ACCESSIONER, Role.REVIEWER, Role.DIRECTOR):
        page = read(logged_in(role, ward.laboratory), "order-urgency", order.pk)
        offered[role] = ("Change the priority" in page, 'value="stat"' in page, "Put it on hold" in page)
    assert list(offered.values()) == [(False, False, False), (False, False, True), (True, False, True), (True, True, True)]
