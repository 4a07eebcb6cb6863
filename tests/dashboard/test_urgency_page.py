"""Priority and hold from the order's page: what is offered to whom, what is done, and what is refused in words."""

import re

import pytest
from django.urls import reverse

from accounts.roles import Role
from orders.models import HoldRequest, Order
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
    assert "is on hold" in page and "On hold: A question about the specimen" in page and "<b>On hold</b>" in page
    form = read(client, "order-urgency", order.pk)
    assert "Let it go on" in form and "another priority does not let it go on" in form
    page = ask(client, order, "release").content.decode()
    assert "goes on" in page and "On hold:" not in page


@pytest.mark.parametrize(
    ("do", "said", "words"),
    [
        ("priority", {"priority": "asap", "reason": " "}, "Say why the priority changes."),
        ("priority", {"priority": "routine", "reason": "x"}, "The order is Routine already."),
        ("priority", {"reason": "x"}, "Choose STAT, ASAP"), ("hold", {"hold": "no"}, "Choose why the order waits."),
        ("release", {}, "This order is not on hold."), ("sing", {}, "nothing that can be done"),
        ("hold", {"hold": "hold.input", "edits": "99"}, "The order has changed since you opened this page"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_on_the_same_page(ward: Ward, do: str, said: dict[str, str], words: str) -> None:
    order = ward.order()
    response = ask(ward.analyst(), order, do, **said)
    assert response.status_code == 409 and words in response.content.decode()
    assert (Order.objects.get().priority, Order.objects.get().hold_reason) == ("routine", "")


def test_a_stat_order_that_another_placed_is_not_held_by_one_person(ward: Ward) -> None:
    response = ask(ward.analyst(), ward.order(priority="stat"), "hold", hold="hold.input")
    assert response.status_code == 409 and "two people" in response.content.decode()


@pytest.mark.parametrize(("do", "field"), [("priority", "reason"), ("ask", "words")])
@pytest.mark.parametrize("text", ["x" * 301, "x" * 100_000], ids=["long", "giant"])
def test_a_reason_that_does_not_fit_is_refused_with_what_was_typed_and_not_cut(ward: Ward, do: str, field: str, text: str) -> None:
    order = ward.order(priority="stat")
    response = ask(ward.analyst(), order, do, priority="asap", hold="hold.input", **{field: text})
    page = response.content.decode()
    assert response.status_code == 409 and "at most 300 fit" in page and text in page
    assert (Order.objects.get().edits, HoldRequest.objects.count()) == (order.edits, 0)


def test_a_reason_keeps_no_control_characters_and_runs_as_no_script(ward: Ward) -> None:
    order = ward.order()
    page = ask(
        ward.analyst(), order, "priority", priority="asap", reason="a\0b\u202e <script>alert(1)</script>\nc"
    ).content.decode()
    assert Order.objects.get().priority_reason == "a b <script>alert(1)</script> c"
    assert "a b &lt;script&gt;alert(1)&lt;/script&gt; c" in page and "<script>alert" not in page


def test_the_timeline_says_why_the_priority_changed_last(ward: Ward) -> None:
    order, client = ward.order(), ward.analyst()
    ask(client, order, "priority", priority="asap", reason="fever")
    page = ask(client, order, "priority", priority="urgent", reason="no fever").content.decode()
    assert re.findall(r"→ (\w+), by Person \d+(?:: ([\w ]+))?<", page) == [("asap", ""), ("urgent", "no fever")]


def test_what_was_chosen_and_typed_is_there_again_after_a_refusal(ward: Ward) -> None:
    order, client = ward.order(), ward.analyst()
    page = ask(client, order, "priority", priority="asap", reason="fever", edits="99").content.decode()
    assert 'value="asap" required checked' in page and 'value="fever"' in page
    page = ask(client, order, "hold", hold="hold.input", edits="99").content.decode()
    assert 'value="hold.input" selected' in page


def test_each_role_is_offered_what_it_may_do(ward: Ward) -> None:
    order = ward.order()
    offered = {}
    for role in (Role.REQUESTER, Role.ACCESSIONER, Role.REVIEWER, Role.DIRECTOR):
        page = read(logged_in(role, ward.laboratory), "order-urgency", order.pk)
        offered[role] = ("Change the priority" in page, 'value="stat"' in page, "Put it on hold" in page)
    assert list(offered.values()) == [(False, False, False), (False, False, True), (True, False, True), (True, True, True)]
