"""Who asks for an order, and at which sites: taken down when it is placed, and kept."""

import hashlib
import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.models import Site
from accounts.sites import main_site
from foundation import clock
from orders.errors import InvalidOrder, OrderConflict
from orders.models import Order
from orders.services import content_hash
from tests.factories import make_laboratory, make_order, make_organisation, make_provider, make_ready_intake, make_request

pytestmark = pytest.mark.django_db


def annexe(organisation: Any) -> Site:
    later = clock.now() + timedelta(seconds=1)
    return Site.objects.create(organisation=organisation, code="annexe", name="Annexe", created_at=later)


def objections(**changes: Any) -> dict[str, list[str]]:
    intake = make_ready_intake()
    if changes.pop("with_providers", False):
        make_provider(intake.ordering_organisation)
    with pytest.raises(InvalidOrder) as refused:
        make_order(intake=intake, **changes)
    return refused.value.fields


def test_an_order_names_the_main_sites_where_nobody_names_others() -> None:
    order = make_order()
    assert order.ordering_site == main_site(order.ordering_organisation_id)
    assert order.performing_site == main_site(order.performing_laboratory_id)


def test_an_order_keeps_provider_and_contact_as_they_were_when_it_was_placed() -> None:
    intake = make_ready_intake()
    provider = make_provider(intake.ordering_organisation, "Dr Rita", phone="+00 1", alternative="ward 4")
    order = make_order(intake=intake, provider_id=provider.pk, site_id=annexe(intake.ordering_organisation).pk)
    type(provider).objects.filter(pk=provider.pk).update(name="Dr Rita Married", phone="+00 2")
    order.refresh_from_db()
    kept = (order.provider, order.provider_name, order.provider_contact, order.ordering_site.name)
    assert kept == (provider, "Dr Rita", "+00 1; otherwise ward 4", "Annexe")


def test_an_organisation_without_providers_orders_without_one() -> None:
    order = make_order()
    assert (order.provider, order.provider_name) == (None, "")


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"with_providers": True}, "provider"), ({"provider_id": uuid4()}, "provider"), ({"site_id": uuid4()}, "site")],
)
def test_a_missing_or_unknown_provider_or_site_is_said_at_its_field(changes: dict[str, Any], field: str) -> None:
    assert list(objections(**changes)) == [field]


def test_neither_a_provider_nor_a_site_of_somebody_else_nor_a_closed_one_is_taken() -> None:
    stranger = make_organisation()
    assert list(objections(provider_id=make_provider(stranger).pk, site_id=main_site(stranger.pk).pk)) == ["site", "provider"]
    intake = make_ready_intake()
    closed = make_provider(intake.ordering_organisation, active=False)
    with pytest.raises(InvalidOrder):
        make_order(intake=intake, provider_id=closed.pk)


def test_the_database_takes_no_site_of_somebody_else_and_names_the_main_one_for_an_older_process() -> None:
    order = make_order()
    with pytest.raises(DatabaseError), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(ordering_site=main_site(make_laboratory().pk))
    with connection.cursor() as cursor, pytest.raises(DatabaseError), transaction.atomic():
        cursor.execute("UPDATE orders_order SET provider_name = 'another' WHERE id = %s", [order.pk])


def test_the_same_order_in_the_name_of_another_provider_is_another_order() -> None:
    intake = make_ready_intake()
    rita, robin = (make_provider(intake.ordering_organisation) for _ in range(2))
    asked = make_request(intake, provider_id=rita.pk)
    order = make_order(intake=intake, **asked.__dict__)
    again = make_order(intake=intake, **asked.__dict__)
    assert again == order
    with pytest.raises(OrderConflict):
        make_order(intake=intake, **{**asked.__dict__, "provider_id": robin.pk})


def test_what_names_neither_provider_nor_site_hashes_as_it_did_before_there_were_any() -> None:
    intake = make_ready_intake()
    asked = make_request(intake)
    before = asdict(asked) | {"intake_id": None, "file": intake.file.sha256, "sample": "", "test": str(intake.test_version_id)}
    for later in ("provider_id", "site_id", "performing_site_id", "repeats", "late"):
        del before[later]
    del before["patient"]["others"]  # further numbers
    text = json.dumps(before, sort_keys=True, default=str)
    assert content_hash(asked, intake) == hashlib.sha256(text.encode()).hexdigest()
