"""Who gets which page: the owner, the colleague, the stranger, and nobody at all."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import TABLE, Role, Verb
from dashboard.urls import urlpatterns
from orders.models import Order
from tests.factories import make_laboratory, make_order, make_organisation, make_ready_intake, make_test_version, make_user

pytestmark = pytest.mark.django_db
OPEN = {"login", "logout"}
OF_AN_ORDER = ["order", "order-live", "order-cancel", "report-page", "report-pdf", "order-results.csv"]


@pytest.fixture
def order() -> Order:
    """An order of a hospital, performed by another organisation's laboratory."""
    return make_order(intake=make_ready_intake(test_version=make_test_version(), organisation=make_organisation()))


def address(name: str, order: Order) -> str:
    return reverse(name, args=[order.intake_id if name == "intake" else order.pk] if name in [*OF_AN_ORDER, "intake"] else [])


def as_role(role: Role | str, organisation: object) -> Client:
    client = Client()
    client.force_login(make_user(role=role, organisation=organisation))  # type: ignore[arg-type]
    return client


def test_the_list_of_pages_in_this_file_is_complete() -> None:
    named = {str(pattern.name) for pattern in urlpatterns}  # type: ignore[union-attr]
    known = {*OPEN, *OF_AN_ORDER[:3], "intake", "worklist", "worklist-live", "order-new", "order-input", "engine", "engine-live"}
    assert named == known


@pytest.mark.parametrize(
    "name", [*OF_AN_ORDER, "intake", "worklist", "worklist-live", "order-new", "order-input", "engine", "engine-live"]
)
def test_nobody_is_sent_to_the_login_page(order: Order, name: str) -> None:
    response = Client().get(address(name, order))
    assert response.status_code == 302 and response["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("name", [*OF_AN_ORDER, "intake"])
def test_to_a_stranger_an_order_does_not_exist(order: Order, name: str, role: str) -> None:
    assert as_role(role, make_laboratory()).get(address(name, order)).status_code == 404


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("name", ["order", "order-live", "order-cancel", "intake"])
def test_in_the_laboratory_the_role_decides(order: Order, name: str, role: str) -> None:
    status = as_role(role, order.performing_laboratory).get(address(name, order)).status_code
    assert status == (200 if Verb.VIEW_ORDER in TABLE[Role(role)] else 404)


@pytest.mark.parametrize("role", Role.values)
def test_only_roles_that_look_after_the_engine_see_its_page(role: str) -> None:
    status = as_role(role, make_laboratory()).get(reverse("engine")).status_code
    assert status == (200 if Verb.VIEW_ENGINE in TABLE[Role(role)] else 403)


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("name", ["order-new", "order-input"])
def test_only_roles_that_place_orders_see_the_form(name: str, role: str) -> None:
    client, places = as_role(role, make_laboratory()), Verb.PLACE in TABLE[Role(role)]
    status = client.post(reverse(name)).status_code if name == "order-input" else client.get(reverse(name)).status_code
    assert status == ((422 if name == "order-input" else 200) if places else 403)


@pytest.mark.parametrize("role", Role.values)
def test_everybody_has_a_worklist_page_and_its_entries_are_those_he_may_use(role: str) -> None:
    page = as_role(role, make_laboratory()).get(reverse("worklist")).content.decode()
    verbs = TABLE[Role(role)]
    assert ("Your role does not include orders." in page) == (Verb.VIEW_ORDER not in verbs)
    assert (f'href="{reverse("engine")}"' in page) == (Verb.VIEW_ENGINE in verbs)
    assert (f'href="{reverse("order-new")}"' in page) == (Verb.PLACE in verbs)


def test_a_stranger_cannot_cancel(order: Order) -> None:
    client = as_role(Role.DIRECTOR, make_laboratory())
    response = client.post(address("order-cancel", order), {"reason": "no", "confirmed": "yes", "edits": order.edits})
    order.refresh_from_db()
    assert response.status_code == 404 and order.state == "accepted"


def test_a_stranger_cannot_order_on_somebody_elses_upload(order: Order) -> None:
    stranger = as_role(Role.REQUESTER, make_organisation())
    page = stranger.get(reverse("order-new"), {"intake": str(order.intake_id)}).content.decode()
    assert order.intake.filename not in page


def test_a_search_never_finds_what_belongs_to_others(order: Order) -> None:
    page = (
        as_role(Role.DIRECTOR, make_laboratory()).get(reverse("worklist"), {"q": order.accession, "chip": "open"}).content.decode()
    )
    assert "No order matches" in page and str(order.pk) not in page


def test_an_unknown_filter_shows_no_other_institutes_orders(order: Order) -> None:
    page = (
        as_role(Role.DIRECTOR, make_laboratory())
        .get(reverse("worklist"), {"chip": "everything", "page": "9999999999"})
        .content.decode()
    )
    assert order.accession not in page


def test_who_has_logged_out_is_nobody_again(order: Order) -> None:
    client = as_role(Role.ANALYST, order.performing_laboratory)
    assert client.get(reverse("logout")).status_code == 405
    client.post(reverse("logout"))
    assert client.get(address("order", order)).status_code == 302


def test_a_membership_that_has_ended_shows_nothing(order: Order) -> None:
    user = make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    client = Client()
    client.force_login(user)
    user.memberships.update(ended_at=order.placed_at)
    assert client.get(address("order", order)).status_code == 404


@pytest.mark.parametrize("name", ["order", "order-live", "worklist", "worklist-live", "order-new", "intake", "engine"])
def test_no_cache_keeps_a_page_and_every_answer_is_dated(order: Order, name: str) -> None:
    response = as_role(Role.ANALYST, order.performing_laboratory).get(address(name, order))
    assert "no-store" in response["Cache-Control"] and response["X-Server-Time"].endswith("+00:00")
