"""A hold of a STAT order by two people, on pages: who is offered what, who sees it where, and what comes too late."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.roles import Role
from foundation import clock
from orders import holding
from orders.models import HoldRequest, Order
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_laboratory, make_organisation

pytestmark = pytest.mark.django_db
CONFIRM, DECLINE, WITHDRAW = "Agree: put it on hold", "Decline: it goes on", "Take it back"


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def order(ward: Ward) -> Order:
    return ward.order(priority="stat")


def send(client: Client, order: Order, do: str, **said: object):
    request = HoldRequest.objects.filter(order=order, state="open").first()
    data = {"do": do, "edits": order.edits, "request": request.pk if request else "", **said}
    return client.post(reverse("order-urgency", args=[order.pk]), data, follow=True)


def asked(ward: Ward, order: Order, words: str = "two tubes") -> Client:
    """The browser of the analyst who asks."""
    client = ward.analyst()
    page = send(client, order, "ask", hold="hold.specimen", words=words).content.decode()
    assert "It goes on until a second person agrees." in page
    return client


def placer(order: Order) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=order.placed_by_id))
    return client


def offered(client: Client, order: Order) -> list[str]:
    page = read(client, "order-urgency", order.pk)
    return [words for words in ("Ask a second person", "Put it on hold", CONFIRM, DECLINE, WITHDRAW) if words in page]


def test_two_people_hold_a_stat_order_on_pages(ward: Ward, order: Order) -> None:
    asked(ward, order)
    page = send(logged_in(Role.REVIEWER, ward.laboratory), order, "confirm", words="I have seen the tubes").content.decode()
    assert "is on hold" in page and "On hold: A question about the specimen" in page
    assert re.search(r"Put on hold.*By Person \d+, as asked by Person \d+<", page)
    order.refresh_from_db()
    assert (order.hold_reason, HoldRequest.objects.get().answer) == ("hold.specimen", "I have seen the tubes")


def test_each_is_offered_his_part(ward: Ward, order: Order) -> None:
    first, second, requester = ward.analyst(), logged_in(Role.DIRECTOR, ward.laboratory), ward.requester()
    assert [offered(one, order) for one in (first, requester, placer(order))] == [["Ask a second person"], [], ["Put it on hold"]]
    send(first, order, "ask", hold="hold.input", words="")
    found = [offered(one, order) for one in (first, second, requester, placer(order))]
    assert found == [[WITHDRAW], [CONFIRM, DECLINE], [], [CONFIRM, DECLINE]]


def test_who_asked_reads_what_he_asked_and_can_take_it_back(ward: Ward, order: Order) -> None:
    client = asked(ward, order)
    page = read(client, "order-urgency", order.pk)
    assert "You have asked" in page and "“two tubes”" in page
    assert "You have taken your request back" in send(client, order, "withdraw").content.decode()
    assert offered(client, order) == ["Ask a second person"]


def test_who_declines_says_why_and_the_timeline_tells(ward: Ward, order: Order) -> None:
    asked(ward, order)
    client = logged_in(Role.DIRECTOR, ward.laboratory)
    refused = send(client, order, "decline", words=" ")
    assert refused.status_code == 409 and "Say why you agree, or why not." in refused.content.decode()
    page = send(client, order, "decline", words="the tubes are ours").content.decode()
    assert "You have declined" in page and "Hold declined" in page and 'id="hold-asked"' not in page


def test_a_request_stands_on_the_order_and_the_worklist_of_everybody_who_sees_the_order(ward: Ward, order: Order) -> None:
    asked(ward, order)
    for client in (ward.requester(), logged_in(Role.DIRECTOR, ward.laboratory)):
        assert "<b>Hold asked for</b> by Person" in read(client, "order", order.pk)
        assert "hold asked for by Person" in read(client, "worklist")


def test_the_worklist_asks_those_who_can_answer_and_nobody_else(ward: Ward, order: Order) -> None:
    first = asked(ward, order)
    link = f'<a id="answer-{HoldRequest.objects.get().pk}" href="{reverse("order-urgency", args=[order.pk])}">{order.accession}</a>'
    asks = {
        "director": logged_in(Role.DIRECTOR, ward.laboratory), "placer": placer(order), "asker": first,
        "requester": ward.requester(), "stranger": logged_in(Role.DIRECTOR, make_laboratory()),
    }  # fmt: skip
    assert {name: link in read(client, "worklist") for name, client in asks.items()} == {
        "director": True, "placer": True, "asker": False, "requester": False, "stranger": False,
    }  # fmt: skip
    assert "answer-link" in read(asks["placer"], "order", order.pk)
    send(asks["director"], order, "decline", words="no")
    assert link not in read(asks["placer"], "worklist")


def test_an_answer_to_a_request_that_was_not_the_one_seen_is_refused(ward: Ward, order: Order) -> None:
    first = asked(ward, order)
    seen = HoldRequest.objects.get().pk
    send(first, order, "withdraw")
    asked(ward, order, "another matter")
    response = send(logged_in(Role.DIRECTOR, ward.laboratory), order, "confirm", words="yes", request=seen)
    assert response.status_code == 409 and "not open any more" in response.content.decode()
    assert Order.objects.get().hold_reason == ""


@pytest.mark.parametrize("request_id", ["", "x", "0", "9" * 30, "1\0"])
def test_an_answer_to_nothing_is_refused(ward: Ward, order: Order, request_id: str) -> None:
    asked(ward, order)
    client = logged_in(Role.DIRECTOR, ward.laboratory)
    assert send(client, order, "confirm", words="yes", request=request_id).status_code == 409


@pytest.mark.parametrize("do", ["confirm", "decline", "withdraw"])
def test_a_stranger_answers_nothing(ward: Ward, order: Order, do: str) -> None:
    asked(ward, order)
    stranger = logged_in(Role.DIRECTOR, make_organisation())
    assert send(stranger, order, do, words="yes").status_code == 404
    assert HoldRequest.objects.get().state == "open"


def test_a_role_that_may_not_hold_neither_asks_nor_answers(ward: Ward, order: Order) -> None:
    client = logged_in(Role.REQUESTER, ward.hospital)
    assert send(client, order, "ask", hold="hold.input").status_code == 409
    asked(ward, order)
    for do in ("confirm", "decline", "withdraw"):
        assert send(client, order, do, words="yes").status_code == 409
    assert HoldRequest.objects.get().state == "open"


def test_a_second_click_asks_for_nothing_more_and_a_second_answer_finds_nothing(ward: Ward, order: Order) -> None:
    first = asked(ward, order)
    assert send(first, order, "ask", hold="hold.specimen").status_code == 200
    client, seen = logged_in(Role.DIRECTOR, ward.laboratory), HoldRequest.objects.get().pk
    assert send(client, order, "confirm", words="yes", request=seen).status_code == 200
    assert send(client, order, "confirm", words="yes", request=seen).status_code == 409
    assert HoldRequest.objects.get().state == "confirmed"


def test_a_request_that_ran_out_is_shown_nowhere_before_it_is_swept_too(
    ward: Ward, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(ward, order)
    client = logged_in(Role.DIRECTOR, ward.laboratory)
    then = clock.now() + holding.OPEN_FOR + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: then)
    assert offered(client, order) == ["Ask a second person"]
    assert "answer-" not in read(client, "worklist") and 'id="hold-asked"' not in read(client, "order", order.pk)
    holding.expire()
    assert "Hold not confirmed in time" in read(client, "order", order.pk)


def test_an_open_page_reads_its_other_parts_again_when_a_hold_is_asked_for(ward: Ward, order: Order) -> None:
    client = ward.requester()
    seen = re.search(r'live\?shown=([^"]+)"', read(client, "order", order.pk)).group(1)
    assert 'id="timeline" hx-swap-oob' not in read(client, "order-live", order.pk, shown=seen)
    asked(ward, order)
    again = read(client, "order-live", order.pk, shown=seen)
    assert 'id="timeline" hx-swap-oob' in again and 'id="hold-asked"' in again and 'id="order-priority" hx-swap-oob' in again
