"""Who gets what by the API: owner, colleague, stranger, and tokens that have ended or were given less. One entry a route."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import transaction

from accounts import tokens
from accounts.roles import FOR_PROGRAMS, Role
from accounts.services import actor_for
from foundation import clock
from interop.api.urls import api
from orders.models import Order
from questions import services
from questions.requests import QuestionRequest
from tests.factories import make_actor, make_laboratory, make_organisation, make_token, make_user
from tests.interop.caller import BASE, PATIENT, SPECIMEN, Caller
from tests.reports import cases

pytestmark = pytest.mark.django_db
# Route → (owner: a requester of the hospital, colleague: an analyst of the laboratory, stranger: a director of another laboratory),
# of a scored and unreleased order of the hospital. Written down a second time, not read from the table of roles.
EXPECTED = {
    "GET /me": (200, 200, 200),
    "GET /tests": (200, 200, 200),
    "GET /organisations": (200, 200, 200),
    "POST /intakes": (201, 403, 403),  # for the hospital
    "GET /intakes/{uuid:pk}": (200, 200, 404),
    "GET /intakes/{uuid:pk}/records": (200, 200, 404),
    "POST /intakes/{uuid:pk}/sample": (409, 403, 404),  # the file has none
    "POST /orders": (409, 403, 422),  # one stands on this upload already; to a stranger the upload does not exist
    "GET /orders": (200, 200, 200),
    "GET /orders/{uuid:pk}": (200, 200, 404),
    "GET /orders/{uuid:pk}/events": (200, 200, 404),
    "POST /orders/{uuid:pk}/cancel": (200, 200, 404),
    "POST /orders/{uuid:pk}/hold": (403, 200, 404),
    "POST /orders/{uuid:pk}/hold/ask": (403, 409, 404),  # it needs no second person
    "POST /orders/{uuid:pk}/hold/answer": (409, 409, 404),  # nobody has asked
    "POST /orders/{uuid:pk}/replace": (409, 403, 404),  # by an order on the same upload
    "POST /orders/{uuid:pk}/release": (403, 409, 404),  # it is not on hold
    "POST /orders/{uuid:pk}/priority": (403, 200, 404),
    "POST /orders/{uuid:pk}/stat-reason": (409, 409, 404),  # it is not STAT
    "GET /orders/{uuid:pk}/results": (409, 200, 404),
    "GET /orders/{uuid:pk}/results.csv": (409, 200, 404),
    "GET /orders/{uuid:pk}/report": (409, 200, 404),
    "GET /orders/{uuid:pk}/report.pdf": (409, 200, 404),
    "POST /orders/{uuid:pk}/report/acknowledge": (404, 404, 404),  # nothing was delivered yet
    # of a question of the laboratory, whose analyst is a colleague of the asker; requesters ask nothing
    "GET /deployments": (403, 200, 200),
    "POST /questions": (403, 201, 422),  # the model of another laboratory does not exist
    "GET /questions": (403, 200, 200),
    "GET /questions/{uuid:pk}": (403, 200, 404),
    "GET /questions/{uuid:pk}/result": (403, 409, 404),  # it is not answered yet
    "POST /questions/{uuid:pk}/cancel": (403, 200, 404),
}
ANY = {"GET /me"}  # what every open token opens


def operations():
    """Every route of the API, with what answers it."""
    for bound in api._get_bound_routers():
        for path, view in bound.path_operations.items():
            for operation in view.operations:
                for method in operation.methods:
                    yield f"{method} {path}".replace("uuidstr", "uuid"), operation


@pytest.fixture
def order() -> Order:
    cache.clear()
    return cases.ordered_by(make_organisation())


def ask(route: str, order: Order, token: str) -> int:
    """The status of a sensible request."""
    method, path = route.split()
    caller = Caller(token)
    path = path.replace("{uuid:pk}", str(one_of(path, order)))
    if method == "GET":
        return int(caller.get(path).status_code)
    if path == "/intakes":
        query = f"test={order.test_version_id}&organisation={order.ordering_organisation_id}"
        return int(caller.send("text", query=query).status_code)
    bodies: dict[str, object] = {
        "sample": {"sample": "NONE"},
        "questions": {"kind": "score", "deployment": order.test_version.deployment_id, "text": "ACGTACGTAC"},
        "orders": {"intake": str(order.intake_id), "patient": PATIENT, "specimen": SPECIMEN, "priority": "routine"},
        "cancel": {"reason": "placed twice"},
        "hold": {"reason": "hold.specimen"},
        "ask": {"reason": "hold.specimen"},
        "answer": {"agree": True, "words": "agreed"},
        "replace": {
            "replaces_reason": "a typing error", "intake": str(order.intake_id), "patient": PATIENT, "specimen": SPECIMEN,
            "priority": "routine",
        },
        "priority": {"priority": "asap", "reason": "worse"},
        "stat-reason": {"reason": "sepsis"},
    }  # fmt: skip
    return int(caller.post(path, bodies.get(path.rpartition("/")[2]), If_Match=f'"{order.edits}"').status_code)


def one_of(path: str, order: Order) -> object:
    """The number of the upload, of the order, or of a question that a director of the laboratory asked."""
    if path.startswith("/questions"):
        asker = make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)
        deployment = order.test_version.deployment_id
        return services.ask(
            actor=asker, request=QuestionRequest(order.performing_laboratory_id, deployment, "score", "ACGTACGTAC")
        ).pk
    return order.intake_id if path.startswith("/intakes") else order.pk


def people(order: Order):
    """Owner, colleague and stranger."""
    yield make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    yield make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    yield make_user(role=Role.DIRECTOR, organisation=make_laboratory())


def test_every_route_has_an_entry_and_needs_a_token_with_a_right() -> None:
    found = dict(operations())
    assert set(found) == set(EXPECTED)
    assert {route for route, operation in found.items() if operation.auth_callbacks[0].verb is None} == ANY


@pytest.mark.parametrize("route", EXPECTED)
def test_owner_colleague_and_stranger(route: str, order: Order) -> None:
    found = []
    for user in people(order):
        with transaction.atomic():  # each finds the order as it was
            found.append(ask(route, order, make_token(user)))
            transaction.set_rollback(True)
    assert tuple(found) == EXPECTED[route]


@pytest.mark.parametrize("route", EXPECTED)
def test_a_token_that_is_none_or_has_ended_opens_nothing(route: str, order: Order, monkeypatch) -> None:
    user = make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    revoked, expired, leaver = (make_token(user, days=1) for _ in range(3))
    tokens.revoke(actor=actor_for(user), token=user.tokens.get(prefix=tokens.shape(revoked)))
    assert [ask(route, order, token) for token in ("", "hct_aaaaaaaaaa_" + "a" * 43, revoked)] == [401] * 3
    with monkeypatch.context() as later:
        then = clock.now() + timedelta(days=2)
        later.setattr(clock, "_source", lambda: then)
        assert ask(route, order, expired) == 401
    type(user).objects.filter(pk=user.pk).update(is_active=False)
    assert ask(route, order, leaver) == 401


@pytest.mark.parametrize("route", [route for route in EXPECTED if route not in ANY])
def test_a_token_without_the_scope_of_a_route_is_told_so(route: str, order: Order) -> None:
    needed = dict(operations())[route].auth_callbacks[0].verb
    user = make_user(role=Role.DIRECTOR, organisation=order.performing_laboratory)
    others = [verb for verb in tokens.scopes_for(user) if verb != needed]
    assert ask(route, order, make_token(user, *others)) == 403


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.OPERATOR, Role.ADMINISTRATOR])
def test_those_who_do_not_work_on_orders_can_make_no_token(role: Role, order: Order) -> None:
    user = make_user(role=role, organisation=order.performing_laboratory)
    assert tokens.scopes_for(user) == []
    with pytest.raises(tokens.InvalidToken):
        make_token(user, "view_order")


def test_lists_hold_nothing_of_a_stranger(order: Order) -> None:
    *_, stranger = people(order)
    caller = Caller(make_token(stranger))
    assert caller.get("/orders").json() == {"orders": [], "next": None}
    assert caller.get("/orders", accession=order.accession).json()["orders"] == []


def test_every_right_of_a_route_can_be_given_to_a_token() -> None:
    assert {operation.auth_callbacks[0].verb for _, operation in operations()} - {None} <= FOR_PROGRAMS


def test_the_document_is_for_everybody_and_holds_no_data(client, settings) -> None:
    settings.STATIC_ROOT = None
    said = client.get(f"{BASE}/openapi.json")
    assert said.status_code == 200 and said.json()["openapi"].startswith("3.1")
