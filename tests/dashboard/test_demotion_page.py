"""An order that another person made less urgent: its requester is told until he has read it, and a hold of it takes two people."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, User
from accounts.roles import Role
from accounts.services import actor_for
from foundation import clock
from orders.models import Demotion, HoldRequest, Order
from tests.dashboard.people import Ward, logged_in, read
from tests.dashboard.test_hold_page import CONFIRM, offered, placer, send
from tests.factories import make_laboratory

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def order(ward: Ward) -> Order:
    return ward.order(priority="stat")


def demoted(ward: Ward, order: Order, priority: str = "urgent", words: str = "no fever") -> Client:
    """By an analyst: his browser."""
    client = ward.analyst()
    order.refresh_from_db()
    assert send(client, order, "priority", priority=priority, reason=words).status_code == 200
    order.refresh_from_db()
    return client


def text(page: str) -> str:
    """What a reader reads of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def told(client: Client, name: str, *args: object) -> bool:
    return "I have read it" in read(client, name, *args)


def say_read(client: Client, order: Order, **said: object):
    return client.post(reverse("order-urgency", args=[order.pk]), {"do": "read", "last": Demotion.objects.latest("id").pk, **said})


@pytest.mark.parametrize("live", ["", "-live"])
def test_its_requester_reads_on_the_worklist_and_on_its_page_who_took_urgency_from_it_and_why(
    ward: Ward, order: Order, live: str
) -> None:
    demoted(ward, order)
    now = r"is ◆ URGENT now, no longer ⚡ STAT · Person \d+, at \d\d:\d\d:\d\d: “no fever” I have read it"
    page = text(read(placer(order), f"worklist{live}"))
    assert re.search(rf"1 of your orders is less urgent than before\. Order {order.accession} {now}", page)
    assert re.search(rf"This order {now}", text(read(placer(order), f"order{live}", order.pk)))


def test_nobody_else_is_told_that_he_has_to_read_it(ward: Ward, order: Order) -> None:
    client = demoted(ward, order)
    for other in (client, ward.requester(), logged_in(Role.DIRECTOR, ward.laboratory)):
        assert not told(other, "worklist") and not told(other, "order", order.pk)
    assert not told(logged_in(Role.DIRECTOR, make_laboratory()), "worklist")


def test_who_has_read_it_is_led_back_to_his_list_and_is_told_no_more(ward: Ward, order: Order) -> None:
    demoted(ward, order)
    client = placer(order)
    page = read(client, "worklist", chip="mine", q="Muster")
    assert 'name="list" value="chip=mine&amp;q=Muster"' in page
    response = say_read(client, order, list="chip=mine&q=Muster")
    assert response["Location"] == f"{reverse('worklist')}?chip=mine&q=Muster"
    page = client.get(response["Location"]).content.decode()
    assert f"You have read that order {order.accession} is less urgent." in page and "I have read it" not in page
    assert not told(client, "order", order.pk)


@pytest.mark.parametrize("back", ["", "//elsewhere.example", "\r\nLocation: x", "next=//elsewhere.example"])
def test_the_way_back_leads_nowhere_but_to_the_worklist(ward: Ward, order: Order, back: str) -> None:
    demoted(ward, order)
    where = say_read(placer(order), order, list=back)["Location"]
    assert where.split("?")[0] == reverse("worklist") and "//" not in where and "\n" not in where


def test_from_the_page_of_the_order_it_leads_there_and_the_timeline_tells_it_once(ward: Ward, order: Order) -> None:
    demoted(ward, order)
    client = placer(order)
    for _ in range(2):
        response = say_read(client, order)
        assert (response.status_code, response["Location"]) == (302, reverse("order", args=[order.pk]))
    assert read(ward.analyst(), "order", order.pk).count("Read that it is less urgent") == 1


def test_each_step_down_is_told_with_its_person_and_its_words(ward: Ward, order: Order) -> None:
    for priority, words in (("asap", "no fever"), ("routine", "cultures <b>late</b>")):
        demoted(ward, order, priority, words)
    page = read(placer(order), "worklist")
    said = r"now, no longer ⚡ STAT · Person \d+, at [\d:]+: “no fever”; Person \d+, at [\d:]+: “cultures <b>late</b>”"
    assert re.search(said, text(page)) and "<b>late" not in page
    assert page.count(">I have read it<") == 1


def test_each_of_two_orders_is_told_and_read_by_itself(ward: Ward, order: Order) -> None:
    other = ward.order(priority="asap", actor=actor_for(User.objects.get(pk=order.placed_by_id)))
    for one in (order, other):
        demoted(ward, one, "routine")
    page = text(read(placer(order), "worklist"))
    assert "2 of your orders are less urgent than before." in page and page.count("I have read it") == 2
    say_read(placer(order), other)
    page = text(read(placer(order), "worklist"))
    assert f"1 of your orders is less urgent than before. Order {order.accession} is" in page


def test_a_closed_order_and_one_as_urgent_as_before_tell_nothing(ward: Ward, order: Order) -> None:
    demoted(ward, order)
    demoted(ward, order, "stat", "fever again")
    assert not told(placer(order), "worklist") and not told(placer(order), "order", order.pk)
    demoted(ward, order)
    Order.objects.filter(pk=order.pk).update(state="cancelled", ended_at=clock.now())
    assert not told(placer(order), "worklist") and not told(placer(order), "order", order.pk)


@pytest.mark.parametrize("last", ["", "x", "0", "-1", "9" * 30, "1\0"])
def test_who_has_read_nothing_that_was_shown_is_refused(ward: Ward, order: Order, last: str) -> None:
    demoted(ward, order)
    response = say_read(placer(order), order, last=last)
    assert response.status_code == 409 and "nothing to read" in response.content.decode()
    assert Demotion.objects.get().read_at is None


def test_nobody_reads_it_for_him(ward: Ward, order: Order) -> None:
    client = demoted(ward, order)
    for other in (client, ward.requester()):
        response = say_read(other, order)
        assert response.status_code == 409 and "Only who placed the order" in response.content.decode()
    assert say_read(logged_in(Role.DIRECTOR, make_laboratory()), order).status_code == 404
    Membership.objects.filter(user_id=order.placed_by_id).update(ended_at=clock.now())
    assert say_read(placer(order), order).status_code == 404
    assert Demotion.objects.get().read_at is None


def test_a_form_of_another_site_has_read_nothing(ward: Ward, order: Order) -> None:
    demoted(ward, order)
    client = Client(enforce_csrf_checks=True)
    client.cookies = placer(order).cookies
    assert say_read(client, order).status_code == 403 and Demotion.objects.get().read_at is None


def test_an_open_page_reads_its_other_parts_again_when_the_requester_has_read_it(ward: Ward, order: Order) -> None:
    client = demoted(ward, order)
    seen = re.search(r'live\?shown=([^"]+)"', read(client, "order", order.pk)).group(1)
    assert 'id="timeline" hx-swap-oob' not in read(client, "order-live", order.pk, shown=seen)
    say_read(placer(order), order)
    assert "Read that it is less urgent" in read(client, "order-live", order.pk, shown=seen)


def test_who_took_stat_from_it_is_asked_for_a_second_person_and_told_why(ward: Ward, order: Order) -> None:
    client = demoted(ward, order)
    why = r"was STAT until Person \d+, who did not place it, made it less urgent at \d\d:\d\d:\d\d"
    assert offered(client, order) == ["Ask a second person"] and offered(placer(order), order) == ["Put it on hold"]
    assert re.search(rf"{why}: it still waits only if two people say so\.", text(read(client, "order-urgency", order.pk)))
    response = send(client, order, "hold", hold="hold.input")
    assert response.status_code == 409 and "another than its requester took STAT from" in response.content.decode()
    assert "until a second person agrees." in send(client, order, "ask", hold="hold.input", words="").content.decode()
    second = logged_in(Role.DIRECTOR, ward.laboratory)
    page = text(read(second, "order-urgency", order.pk))
    assert CONFIRM in page and re.search(rf"The work goes on until a second person agrees: the order {why}\. The request", page)
    assert "is on hold" in send(second, order, "confirm", words="yes").content.decode()


def test_a_request_asked_for_before_outlives_the_demotion_on_pages(ward: Ward, order: Order) -> None:
    send(ward.analyst(), order, "ask", hold="hold.input", words="")
    demoted(ward, order)
    assert HoldRequest.objects.get().state == "open"
    assert "<b>1 hold waits for a second person" in read(placer(order), "worklist")
    assert 'id="hold-asked"' in read(ward.requester(), "order", order.pk)


def test_what_one_person_holds_is_not_offered_to_become_stat_and_the_page_says_why(ward: Ward) -> None:
    order, client = ward.order(priority="urgent"), ward.analyst()
    assert send(client, order, "hold", hold="hold.input").status_code == 200
    order.refresh_from_db()
    page = read(client, "order-urgency", order.pk)
    assert 'value="stat"' not in page and 'value="asap"' in page and "It can become STAT when it goes on" in page
    response = send(client, order, "priority", priority="stat", reason="sepsis")
    assert response.status_code == 409 and "One person alone put this order on hold" in response.content.decode()
    send(client, order, "release")
    page = read(client, "order-urgency", order.pk)
    assert 'value="stat"' in page and "when it goes on" not in page
