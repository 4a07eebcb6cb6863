"""Priority, hold and cancellation attacked: without a right, by another way than the page's, too late, and with nonsense."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, User
from foundation import clock
from orders.models import HoldRequest, Order
from tests.dashboard.people import Ward
from tests.forging import forge

pytestmark = pytest.mark.django_db
DEEDS = {
    "priority": {"do": "priority", "priority": "asap", "reason": "no fever"},
    "hold": {"do": "hold", "hold": "hold.input"},
    "ask": {"do": "ask", "hold": "hold.input"},
}
DOORS = ("order-urgency", "order-cancel")


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def order(ward: Ward) -> Order:
    return ward.order(priority="stat")


def untouched(order: Order) -> bool:
    now = Order.objects.get(pk=order.pk)
    return (now.edits, now.priority, now.hold_reason, now.state) == (1, "stat", "", "accepted") and not HoldRequest.objects.exists()


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_no_other_method_opens_these_doors(ward: Ward, order: Order, name: str, method: str) -> None:
    response = getattr(ward.analyst(), method)(reverse(name, args=[order.pk]), DEEDS["priority"])
    assert response.status_code == 405 and untouched(order)


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("deed", DEEDS)
def test_an_address_alone_changes_nothing(ward: Ward, order: Order, name: str, deed: str) -> None:
    assert ward.analyst().get(reverse(name, args=[order.pk]), DEEDS[deed]).status_code == 200
    assert untouched(order)


@pytest.mark.parametrize("name", DOORS)
def test_a_form_of_another_site_is_refused(ward: Ward, order: Order, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = ward.analyst().cookies
    assert client.post(reverse(name, args=[order.pk]), DEEDS["priority"]).status_code == 403
    assert untouched(order)


def log_out(client: Client) -> None:
    """In another window: the page that is open still has its form."""
    other = Client()
    other.cookies = client.cookies
    other.post(reverse("logout"))


def deactivate(client: Client) -> None:
    User.objects.update(is_active=False)


@pytest.mark.parametrize("revoked", [log_out, deactivate])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_session_that_ended_meanwhile_changes_nothing(ward: Ward, order: Order, revoked, deed: str) -> None:
    client = ward.analyst()
    revoked(client)
    response = client.post(reverse("order-urgency", args=[order.pk]), {**DEEDS[deed], "edits": 1})
    assert response.status_code == 302 and response["Location"].startswith(reverse("login")) and untouched(order)


@pytest.mark.parametrize("deed", DEEDS)
def test_who_has_left_the_laboratory_finds_no_order(ward: Ward, order: Order, deed: str) -> None:
    client = ward.analyst()
    Membership.objects.filter(organisation=ward.laboratory).update(ended_at=clock.now())
    response = client.post(reverse("order-urgency", args=[order.pk]), {**DEEDS[deed], "edits": 1})
    assert response.status_code == 404 and untouched(order)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("state", ["cancelled", "reported"])
def test_a_closed_order_is_not_steered_and_its_page_says_so(ward: Ward, order: Order, deed: str, state: str) -> None:
    forge(order, state=state, ended_at=clock.now())
    client = ward.analyst()
    response = client.post(reverse("order-urgency", args=[order.pk]), {**DEEDS[deed], "edits": 1})
    assert response.status_code == 409 and "This order is closed" in response.content.decode()
    assert f"This order is {state} already" in client.get(reverse("order-urgency", args=[order.pk])).content.decode()
    assert Order.objects.get().edits == 1 and not HoldRequest.objects.exists()


@pytest.mark.parametrize("edits", ["", "-1", "1e9", "9" * 40, "1; DROP TABLE", "1\0"])
def test_a_version_that_is_none_is_a_stale_one(ward: Ward, order: Order, edits: str) -> None:
    response = ward.analyst().post(reverse("order-urgency", args=[order.pk]), {**DEEDS["priority"], "edits": edits})
    assert response.status_code == 409 and untouched(order)


def test_a_reason_to_cancel_that_does_not_fit_is_refused_and_kept_on_the_page(ward: Ward, order: Order) -> None:
    text = "<script>alert(1)</script>" + "x" * 500
    data = {"reason": text, "confirmed": "yes", "edits": 1}
    response = ward.analyst().post(reverse("order-cancel", args=[order.pk]), data)
    page = response.content.decode()
    assert response.status_code == 409 and "at most 500 fit" in page and "x" * 500 in page and "<script>alert" not in page
    assert untouched(order)


def test_held_then_cancelled_it_cannot_be_released(ward: Ward) -> None:
    order, client = ward.order(), ward.analyst()
    client.post(reverse("order-urgency", args=[order.pk]), {**DEEDS["hold"], "edits": 1})
    client.post(reverse("order-cancel", args=[order.pk]), {"reason": "twice", "confirmed": "yes", "edits": 2})
    response = client.post(reverse("order-urgency", args=[order.pk]), {"do": "release", "edits": 3})
    assert response.status_code == 409 and "This order is closed" in response.content.decode()
    page = client.get(reverse("order", args=[order.pk])).content.decode()
    assert "On hold:" not in page and "<b>Cancelled</b>" in page
