"""Who gets what by FHIR: owner, colleague, stranger, and tokens that have ended or were given less. One entry a route."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import transaction

from accounts.roles import Role, Verb
from foundation import clock
from interop.fhir.urls import ROUTES
from orders.models import Order
from tests.factories import make_laboratory, make_organisation, make_token, make_user
from tests.interop.fhir.sender import FHIR, bundle, request
from tests.interop.fhir.shapes import require_shape
from tests.reports import cases

pytestmark = pytest.mark.django_db
# Route → (owner: a requester of the hospital, colleague: an analyst of the laboratory, stranger: a director of another laboratory),
# of a scored and unreleased order of the hospital. Whoever may place sends an order of his own.
EXPECTED = {
    "GET /metadata": (200, 200, 200),
    "POST ": (200, 200, 200),
    "POST /ServiceRequest": (422, 422, 422),  # its patient is nobody's
    "GET /ServiceRequest": (1, 1, 0),  # how many are found
    "GET /ServiceRequest/<uuid:pk>": (200, 200, 404),
    "GET /Task": (1, 1, 0),
    "GET /Task/<uuid:pk>": (200, 200, 404),
    "GET /DiagnosticReport": (1, 1, 0),
    "GET /DiagnosticReport/<uuid:pk>": (200, 200, 404),
    "GET /Patient/<uuid:pk>": (200, 200, 404),
    "GET /Specimen/<uuid:pk>": (200, 200, 404),
}
OPEN = {"GET /metadata"}
BY_ROUTE = {f"{route.method} {route.address}": route for route in ROUTES}


@pytest.fixture
def order() -> Order:
    cache.clear()
    return cases.ordered_by(make_organisation())


def ask(client, route: str, order: Order, token: str) -> int:
    """The status of a sensible request; of a search, how much it found."""
    method, address = route.split(" ")
    ids = {"Patient": order.patient_id, "Specimen": order.specimen_id}
    path = "/fhir" + address.replace("<uuid:pk>", str(ids.get(address.split("/")[-2] if "<" in address else "", order.pk)))
    headers = {"Authorization": f"Bearer {token}"}
    if method == "POST":
        test = order.test_version.definition.code
        body = request(test, subject={"reference": f"Patient/{make_organisation().pk}"}) if address else bundle(request(test))
        return int(require_shape(client.post(path, body, content_type=FHIR, headers=headers)).status_code)
    query = {"_id": str(order.pk)} if address in ("/ServiceRequest", "/Task", "/DiagnosticReport") else {}
    answer = require_shape(client.get(path, query, headers=headers))
    return int(answer.json()["total"]) if query and answer.status_code == 200 else int(answer.status_code)


def people(order: Order):
    yield make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    yield make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    yield make_user(role=Role.DIRECTOR, organisation=make_laboratory())


def test_every_route_has_an_entry_and_needs_rights_of_the_table() -> None:
    assert set(BY_ROUTE) == set(EXPECTED)
    assert {name for name, route in BY_ROUTE.items() if not route.verbs} == OPEN
    assert {verb for route in ROUTES for verb in route.verbs} <= set(Verb)


@pytest.mark.parametrize("route", EXPECTED)
def test_owner_colleague_and_stranger(route: str, order: Order, client) -> None:
    found = []
    for user in people(order):
        with transaction.atomic():
            found.append(ask(client, route, order, make_token(user)))
            transaction.set_rollback(True)
    assert tuple(found) == EXPECTED[route]


@pytest.mark.parametrize("route", sorted(set(EXPECTED) - OPEN))
def test_a_token_that_is_none_or_has_ended_or_was_given_less_opens_nothing(route: str, order: Order, client, monkeypatch) -> None:
    user = make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    ended = make_token(user, days=1)
    for verb in BY_ROUTE[route].verbs:
        others = [one for one in ("place", "view_order", "cancel") if one != verb]
        assert ask(client, route, order, make_token(user, *others)) == 403
    assert [ask(client, route, order, token) for token in ("", "hct_aaaaaaaaaa_" + "a" * 43)] == [401] * 2
    then = clock.now() + timedelta(days=2)
    monkeypatch.setattr(clock, "_source", lambda: then)
    assert ask(client, route, order, ended) == 401


@pytest.mark.parametrize("name", ["identifier", "patient.identifier"])
def test_a_stranger_finds_nothing_by_a_number_that_is_there(name: str, order: Order, client) -> None:
    *_, stranger = people(order)
    number = order.accession if name == "identifier" else order.stated_mrn
    headers = {"Authorization": f"Bearer {make_token(stranger)}"}
    assert require_shape(client.get("/fhir/ServiceRequest", {name: number}, headers=headers)).json()["total"] == 0


def test_a_session_opens_nothing(order: Order, client) -> None:
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    assert client.get(f"/fhir/ServiceRequest/{order.pk}").status_code == 401
