"""schemathesis: requests made from the OpenAPI document, right and wrong, and answers that have to be what it says.

`SCHEMA_EXAMPLES=200 make test ARGS="-k schema"` draws more of them.
"""

import os
from uuid import UUID

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from accounts.roles import Role
from accounts.services import actor_for
from questions import services
from questions.requests import QuestionRequest
from tests.factories import make_token, make_user
from tests.interop.caller import Site

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "6"))
CONFIG = {
    "generation": {"max-examples": EXAMPLES, "deterministic": True, "database": "none"},
    # what only a service can see (a closed order, a sample that is not in the file) is answered with 409, 412 or 422
    "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409", "412", "415", "422", "428"]}},
}


@schemathesis.serializer("application/gzip", "application/x-gzip")
def as_it_is(context, value):
    """A body of these kinds is bytes already; what is no gzip has to be refused in words."""
    return value if isinstance(value, bytes) else str(value).encode()


django = get_wsgi_application()


def served(environ, start_response):
    """As a server ends a request: whatever is read of the answer, files that were sent are closed with it."""
    answer = django(environ, start_response)
    try:
        return [b"".join(answer)]
    finally:
        answer.close()


schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", served, config=SchemathesisConfig.from_dict(CONFIG))


@pytest.fixture
def place(db):
    """A ready upload, an order on another, and a token of somebody who may do nearly all.

    Requests stay on the connection whose transaction is rolled back in the end, as Django's own test client has it.
    """
    site = Site()
    user = site.user(Role.DIRECTOR)
    caller = site.caller()
    order = site.order(caller)
    deployment = site.test.deployment_id
    asking = QuestionRequest(site.test.definition.laboratory_id, deployment, "continue", ">a\nACGTACGTAC", settings={"seed": 1})
    asker = make_user(role=Role.DIRECTOR, organisation=site.test.definition.laboratory)
    question = services.ask(actor=actor_for(asker), request=asking)
    made = {
        "pk": {"orders": order["id"], "intakes": site.upload(caller), "questions": str(question.pk)}, "test": str(site.test.pk),
        "deployment": deployment, "token": make_token(user), "asker": make_token(asker),
    }  # fmt: skip
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield made
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@schema.parametrize()
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # all requests of a route meet the same rows, as in life
def test_every_answer_is_as_the_document_says(case, place):
    cache.clear()  # of refused tokens
    _make_real(case, place)
    token = place["asker" if case.path.startswith(("/questions", "/deployments", "/api/v1/questions")) else "token"]
    case.call_and_validate(headers={"Authorization": f"Bearer {token}"})


def _make_real(case, place):
    """Ids that exist, in half of the places where any id would do: made-up ones lead nowhere."""
    pk = case.path_parameters.get("pk") if case.path_parameters else None
    if _drawn(pk):
        case.path_parameters["pk"] = place["pk"][next(part for part in place["pk"] if f"/{part}" in case.path)]
    if case.query and _drawn(case.query.get("test")):
        case.query["test"] = place["test"]
    if isinstance(case.body, dict) and _drawn(case.body.get("intake")):
        case.body["intake"] = place["pk"]["intakes"]
    if isinstance(case.body, dict) and isinstance(case.body.get("deployment"), str):
        case.body["deployment"] = place["deployment"]


def _drawn(value):
    try:
        return UUID(value).int % 2 == 0
    except (ValueError, TypeError, AttributeError):
        return False
