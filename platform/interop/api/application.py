"""The API put together: routes, how bodies are read, and what every exception is answered with."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation
from ninja.parser import Parser

from foundation.reasons import Reason
from interop import json_text
from interop.api import intakes, orders, questions, results, steering, who
from interop.api.gate import JSON
from interop.problems import NO_STORE, ApiError, Fault, Problem, problem_of

VERSION = "1.0.0"
DESCRIPTION = (
    "Orders, their uploads and their results, and questions about plain sequences, for programs. The same services and rights as"
    " the pages; every answer to a POST comes after its commit. Errors are RFC 9457 problem details. The page /api/ says how to get"
    " a token and what each code means."
)


class StrictJson(Parser):
    """JSON as RFC 8259 has it: no NaN, and no name twice, of which one would be lost."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Whatever it raises becomes a 400."""
        said: dict[str, Any] = json_text.read(request.body)
        return said


class Api(NinjaAPI):
    """Bodies are of the kind they are said to be, and answers are kept by no cache."""

    def create_temporal_response(self, request: HttpRequest) -> HttpResponse:
        """What a route's answer is written into; made when the sender is known and before the body is read. Raises `ApiError`."""
        takes = intakes.KINDS if getattr(request.resolver_match, "url_name", "") == "intakes" else (JSON,)
        if request.headers.get("Content-Length", "0") != "0" and request.content_type not in takes:
            wanted, given = " or ".join(filter(None, takes)), (request.content_type or "nothing")[:80]
            raise ApiError(415, Reason.API_MEDIA_TYPE, wanted=wanted, given=given)
        response = super().create_temporal_response(request)
        response["Cache-Control"] = NO_STORE
        return response

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of the function that serves it."""
        return str(operation.view_func.__name__)


def build() -> Api:
    """The API with all its routes."""
    made = Api(
        title="Helicase",
        version=VERSION,
        description=DESCRIPTION,
        urls_namespace="api-v1",
        openapi_url=None,
        docs_url=None,
        parser=StrictJson(),
    )
    for router in (who.router, intakes.router, orders.router, steering.router, results.router, questions.router):
        made.add_router("", router)
    for kind in (Exception, ValidationError, HttpError):
        made.add_exception_handler(kind, _answer)
    return made


def _answer(request: HttpRequest, error: Any) -> HttpResponse:
    if isinstance(error, ValidationError):
        return _invalid(error).response()
    return (_malformed() if isinstance(error, HttpError) else problem_of(error, pointers=orders.POINTERS)).response()


def _malformed() -> Problem:
    return Problem(400, str(Reason.API_MALFORMED), Reason.API_MALFORMED.say(detail="its body is no JSON object"))


def _invalid(error: ValidationError) -> Problem:
    faults = [_fault(said["loc"], said["msg"].removeprefix("Value error, ")) for said in error.errors]
    return Problem(422, str(Reason.API_INVALID), Reason.API_INVALID.words, faults)


def _fault(place: tuple[Any, ...], words: str) -> Fault:
    source, *path = place
    if source == "body":  # then comes the name of our parameter, which nobody else knows
        return Fault(words, pointer="".join(f"/{_escaped(str(step))}" for step in path[1:]))
    return Fault(words, parameter=str(path[-1]) if path else source)


def _escaped(step: str) -> str:
    """RFC 6901."""
    return step.replace("~", "~0").replace("/", "~1")[:200]
