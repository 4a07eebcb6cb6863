"""Change an order from its page: the form comes filled in, on the same file, and the two pages lead to each other."""

import re
from dataclasses import replace
from datetime import date
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from orders import checking, identity_decisions
from orders.models import Intake, Order
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_organisation
from tests.orders.people import check_of, seen
from tests.orders.test_replacing import accessioner, another, put_in_place

pytestmark = pytest.mark.django_db
NEW = "/orders/new/"


@pytest.fixture
def desk() -> Desk:
    """A requester whose order is placed on a file that was really checked."""
    made = Desk(Ward(time_zone="Europe/Berlin"))
    made.check(pasted=vcf(200, 300))
    assert made.send("place").status_code == 302
    return made


def opened(client: Client, order: Order) -> tuple[str, dict[str, str]]:
    """The form behind "Change…" when the file has been checked again, and what it would send."""
    answer = client.post(reverse("order-replace", args=[order.pk]))
    checking.check_intake(UUID(re.search(r"intake=([0-9a-f-]{36})", answer["Location"]).group(1)))
    page = client.get(answer["Location"]).content.decode()
    fields = dict(re.findall(r'<input type="(?:text|date|datetime-local|hidden)" name="(\w+)" value="([^"]*)"', page))
    fields |= dict(re.findall(r'<select name="(\w+)".*?<option value="([^"]*)" selected', page, re.DOTALL))
    return page, fields | {"priority": "routine", "do": "place", "replaces_reason": "as the ward asked"}


def test_the_form_comes_filled_in_from_the_order(desk: Desk) -> None:
    order = Order.objects.get()
    page, fields = opened(desk.client, order)
    told = {name: fields.get(name) for name in desk.typed if name not in ("intake", "priority")}
    assert told == {name: desk.typed[name] for name in told}
    assert "This input can be ordered." in page and fields["replaces"] == str(order.pk)
    assert shown("order A", page) and "Its file is kept unless you choose another" in page


def test_a_changed_birth_date_is_a_linked_replacement_on_the_same_file(desk: Desk) -> None:
    order = Order.objects.get()
    _, fields = opened(desk.client, order)
    answer = desk.client.post(NEW, fields | {"specimen_source": "Wound"}, follow=True)
    new = Order.objects.get(replaces=order)
    assert (new.intake.file, new.specimen.source, new.state) == (order.intake.file, "Wound", "accepted")
    assert f'id="replaced-order" href="/orders/{order.pk}/"' in answer.content.decode()
    old = read(desk.client, "order", order.pk)
    assert f'id="successor" href="/orders/{new.pk}/"' in old and "Replaced by order" in old and 'id="replace"' not in old
    assert "as the ward asked" in old and "as the ward asked" in read(desk.client, "order", new.pk)


def test_a_replacement_without_a_reason_is_sent_back_to_its_field(desk: Desk) -> None:
    order = Order.objects.get()
    _, fields = opened(desk.client, order)
    answer = desk.client.post(NEW, fields | {"replaces_reason": ""})
    assert answer.status_code == 422 and 'href="#id_replaces_reason"' in answer.content.decode()
    assert not Order.objects.filter(replaces=order).exists()


def test_a_replacement_tells_the_placer_number_of_what_it_replaces(desk: Desk) -> None:
    order = desk.ward.order(placer_system="ward system", placer_number="W-17")
    new = put_in_place(order)
    page = read(desk.client, "order", new.pk)
    assert 'id="placer">W-17' in page and f"given to order {order.accession}" in page and "agreed by telephone" in page


def test_a_replacement_that_was_rejected_is_named_on_both_pages_and_the_order_is_changed_again(desk: Desk) -> None:
    order = desk.ward.order()
    request = another(order)
    parked = put_in_place(order, request=replace(request, patient=replace(request.patient, birth_date=date(1971, 1, 31))))
    assert 'id="successor"' in read(desk.client, "order", order.pk)
    check = check_of(parked)
    identity_decisions.reject(check=check, words="nobody knows", actor=accessioner(parked), expected=seen(check))
    page = read(desk.client, "order", order.pk)
    assert 'id="successor"' not in page and "What was to replace it came to nothing" in page and 'id="replace"' in page
    assert f'class="given-up"><a href="{reverse("order", args=[parked.pk])}">' in page
    assert 'id="replaced-order"' in read(desk.client, "order", parked.pk)


def test_another_test_is_checked_on_the_kept_file(desk: Desk) -> None:
    order, other = Order.objects.get(), Ward().test
    _, fields = opened(desk.client, order)
    page = desk.client.post(NEW, fields | {"test": str(other.pk)}).content.decode()
    newest = Intake.objects.latest("created_at")
    assert (newest.test_version, newest.file) == (other, order.intake.file)
    assert "The input was checked only now" in page


def test_a_form_that_comes_too_late_says_so_and_keeps_what_was_typed(desk: Desk) -> None:
    order = Order.objects.get()
    _, fields = opened(desk.client, order)
    Order.objects.filter(pk=order.pk).update(edits=4)
    answer = desk.client.post(NEW, fields | {"indication": "a new one"})
    assert answer.status_code == 422 and shown("Somebody has changed the order", answer.content.decode())
    assert "a new one" in answer.content.decode() and Order.objects.count() == 1


@pytest.mark.parametrize(("role", "code"), [(Role.REVIEWER, 403), (Role.ANALYST, 302)])
def test_who_may_not_place_for_the_hospital_is_told_so(desk: Desk, role: Role, code: int) -> None:
    order, client = Order.objects.get(), logged_in(role, desk.ward.laboratory)
    assert 'id="replace"' not in read(client, "order", order.pk)
    answer = client.post(reverse("order-replace", args=[order.pk]))
    assert answer.status_code == code and Intake.objects.count() == 1


def test_a_stranger_replaces_nothing(desk: Desk) -> None:
    order, stranger = Order.objects.get(), logged_in(Role.REQUESTER, make_organisation())
    assert stranger.post(reverse("order-replace", args=[order.pk])).status_code == 404
    assert 'id="replaces"' not in read(stranger, "order-new", replaces=str(order.pk))
