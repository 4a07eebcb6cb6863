"""Who asks, on the order form: offered, preselected, remembered, and refused in words."""

import pytest
from django.urls import reverse

from accounts.models import Site
from accounts.roles import Role
from dashboard.asking import named
from foundation import clock
from orders.models import Order
from orders.parties import WHO
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, read, shown
from tests.factories import make_provider, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> Desk:
    found = Desk(Ward())
    make_provider(found.ward.hospital, "Dr Rita Ordering", department="Ward 4", phone="+00 1")
    make_provider(found.ward.hospital, "Dr Rita Ordering", department="Ward 9")
    return found


def place(desk: Desk, provider: str) -> str:
    desk.check(pasted=vcf(100))
    return desk.send("place", provider=provider, pasted=None).content.decode()


@pytest.mark.parametrize("typed", ["Dr Rita Ordering · Ward 4", "  dr rita  ordering · ward 4 "])
def test_the_order_names_whom_the_form_names(desk: Desk, typed: str) -> None:
    place(desk, typed)
    order = Order.objects.get()
    assert (order.provider_name, order.provider_contact) == ("Dr Rita Ordering", "+00 1")
    page = read(desk.client, "order", order.pk)
    assert "Dr Rita Ordering" in page and "critical results: +00 1" in page


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", WHO),
        ("Dr Nobody", "Nobody of this name is a provider"),
        ("Dr Rita Ordering", "Choose the whole line of one: Dr Rita Ordering · Ward 4; Dr Rita Ordering · Ward 9."),
        ("rita", "Choose the whole line of one: Dr Rita Ordering · Ward 4; Dr Rita Ordering · Ward 9."),
    ],
)
def test_nobody_and_somebody_unclear_are_refused_at_the_field(desk: Desk, typed: str, words: str) -> None:
    page = place(desk, typed)
    assert not Order.objects.exists() and 'href="#id_provider"' in page and shown(words, page)


def test_only_the_providers_of_the_chosen_organisation_are_found() -> None:
    assert named("Dr Rita", [])[0] is None


def test_a_requester_who_is_a_provider_is_preselected_and_else_whom_he_named_last(desk: Desk) -> None:
    assert 'value="Dr Rita' not in read(desk.client, "order-new").split('id="providers"')[0]
    place(desk, "Dr Rita Ordering · Ward 9")
    assert 'value="Dr Rita Ordering · Ward 9"' in read(desk.client, "order-new").split('id="providers"')[0]
    himself = make_user(role=Role.REQUESTER, organisation=desk.ward.hospital)
    make_provider(desk.ward.hospital, "Dr Himself", user=himself)
    desk.client.force_login(himself)
    assert 'value="Dr Himself"' in read(desk.client, "order-new").split('id="providers"')[0]


def test_without_providers_the_form_says_what_the_order_will_lack() -> None:
    assert shown("no list of providers yet", read(Ward().requester(), "order-new"))


def test_a_site_is_asked_for_only_where_there_are_several(desk: Desk) -> None:
    assert 'id="id_site"' not in read(desk.client, "order-new")
    annexe = Site.objects.create(organisation=desk.ward.hospital, code="annexe", name="Annexe", created_at=clock.now())
    desk.typed["site"] = str(annexe.pk)
    place(desk, "Dr Rita Ordering · Ward 4")
    order = Order.objects.get()
    assert order.ordering_site == annexe and "Annexe" in desk.client.get(reverse("order", args=[order.pk])).content.decode()


def site(organisation, **named: str) -> Site:
    return Site.objects.create(organisation=organisation, code="annexe", created_at=clock.now(), **named)


def test_where_it_is_performed_is_chosen_where_there_are_several_and_remembered(desk: Desk) -> None:
    assert 'id="id_performing_site"' not in read(desk.client, "order-new")
    tower = site(desk.ward.laboratory, name="Tower")
    desk.typed["performing_site"] = str(tower.pk)
    place(desk, "Dr Rita Ordering · Ward 4")
    assert Order.objects.get().performing_site == tower
    assert f'<option value="{tower.pk}" selected>' in read(desk.client, "order-new")
    Site.objects.filter(pk=tower.pk).update(active=False)
    site(desk.ward.hospital, name="Not of the laboratory")
    desk.check(pasted=vcf(400))
    page = desk.send("place", provider="Dr Rita Ordering · Ward 4", pasted=None).content.decode()
    assert Order.objects.count() == 1 and 'href="#id_performing_site"' not in page  # the field is gone with its choice


def test_the_collection_is_read_by_the_clock_of_the_site_that_orders_whoever_types_it(desk: Desk) -> None:
    tokyo = site(desk.ward.hospital, name="Tokyo ward", time_zone="Asia/Tokyo")
    assert "by the clock of " in read(desk.client, "order-new") and "Tokyo ward: Asia/Tokyo" in read(desk.client, "order-new")
    desk.typed |= {"site": str(tokyo.pk), "collected_at": "2026-01-15T08:30"}
    place(desk, "Dr Rita Ordering · Ward 4")
    order = Order.objects.get()
    assert order.specimen.collected_at.isoformat() == "2026-01-14T23:30:00+00:00"
    assert 'value="2026-01-15T08:30' in read(desk.client, "order-new", replaces=order.pk)
