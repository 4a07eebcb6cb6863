"""Orders that an order repeats or replaces, or that follow it, are named only to who may see them, by page, API and FHIR."""

from dataclasses import replace

import pytest

from accounts.roles import Role
from orders.models import Order
from tests.dashboard.people import logged_in, read
from tests.factories import make_order, make_ready_intake, make_token, make_user
from tests.interop.caller import Caller, Site
from tests.orders.test_replacing import another, put_in_place

pytestmark = pytest.mark.django_db


def told(order: Order, role: Role, organisation) -> tuple[str, dict, dict]:
    """An order as a person reads it on its page, by the API and by FHIR."""
    caller = Caller(make_token(make_user(role=role, organisation=organisation)))
    fhir = caller.client.get(f"/fhir/ServiceRequest/{order.pk}", headers=caller._headers({})).json()
    return read(logged_in(role, organisation), "order", order.pk), caller.get(f"/orders/{order.pk}").json(), fhir


def test_what_another_laboratory_performs_is_named_to_who_ordered_alone(site: Site) -> None:
    first = make_order(intake=make_ready_intake(test_version=site.test, organisation=site.hospital))
    wanted = another(first, repeats=first.pk)
    elsewhere = make_ready_intake(organisation=site.hospital)
    second = put_in_place(first, request=replace(wanted, intake_id=elsewhere.pk))
    first.refresh_from_db()
    assert (first.state, first.cancelled_reason) == ("cancelled", "Replaced by an order at another laboratory: agreed by telephone")
    page, api, fhir = told(second, Role.ANALYST, second.performing_laboratory)
    assert first.accession not in page and (api["repeats"], api["replaces"], "replaces" in fhir) == (None, None, False)
    page, api, fhir = told(first, Role.ANALYST, site.laboratory)
    assert second.accession not in page and api["replaced_by"] is None
    page, api, fhir = told(second, Role.REQUESTER, site.hospital)
    assert page.count(first.accession) >= 2 and (api["repeats"], api["replaces"]) == (str(first.pk), str(first.pk))
    assert fhir["replaces"] == [{"reference": f"ServiceRequest/{first.pk}"}]
    page, api, fhir = told(first, Role.REQUESTER, site.hospital)
    assert page.count(second.accession) >= 2 and api["replaced_by"] == str(second.pk)
