"""What an interface answers when it does not do what was asked: problem details (RFC 9457), with our reason codes.

foundation.HelicaseError
└── ApiError    refused before any service was asked, with a status of HTTP
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

from foundation.errors import HelicaseError, NotFound, NotPermitted, Refused, Stale
from foundation.faults import noted
from foundation.file_reasons import FileReason
from foundation.reason_code import ReasonCode
from foundation.reasons import Reason
from orders.errors import InvalidOrder
from questions.errors import InvalidQuestion
from reports.selectors import TooManyResults
from storage.services import NoSpace, TooLarge

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
PAGE = "/api/#"  # where a type leads: the list of codes on the API's page
NO_STORE = "max-age=0, no-cache, no-store, must-revalidate, private"
_STATUS: list[tuple[type[Exception], int, ReasonCode]] = [  # the first that fits
    (NotFound, 404, Reason.API_NOT_FOUND),
    (Http404, 404, Reason.API_NOT_FOUND),
    (NotPermitted, 403, Reason.ACCESS_NOT_PERMITTED),
    (Stale, 412, Reason.STATE_STALE),
    (InvalidOrder, 422, Reason.ORDER_INVALID),
    (InvalidQuestion, 422, Reason.QUESTION_INVALID),
    (TooLarge, 413, FileReason.FILE_TOO_LARGE),
    (NoSpace, 503, FileReason.FILE_NO_SPACE),
    (TooManyResults, 409, Reason.REPORT_TOO_MANY),
    (Refused, 409, Reason.STATE_ILLEGAL_MOVE),
    (OperationalError, 503, Reason.API_UNAVAILABLE),
    (InterfaceError, 503, Reason.API_UNAVAILABLE),
]
_UNREADABLE = (SuspiciousOperation, BadRequest, MultiPartParserError, UnreadablePostError)


@dataclass(frozen=True)
class Fault:
    """One thing that has to be corrected: a place in the body (JSON pointer), or the name of a parameter or header."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


@dataclass(frozen=True)
class Problem:
    """Why a request was not done."""

    status: int
    code: str
    detail: str
    errors: Sequence[Fault] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """As RFC 9457 names it; `code` and `errors` are ours."""
        said = [{key: value for key, value in fault.__dict__.items() if value is not None} for fault in self.errors]
        title = HTTPStatus(self.status).phrase
        about = {"type": f"{PAGE}{self.code}", "title": title, "status": self.status}
        return {**about, "detail": self.detail, "code": self.code, "errors": said}

    def response(self) -> HttpResponse:
        """The answer; no cache keeps it."""
        headers = {"Cache-Control": NO_STORE, **self.headers}
        return HttpResponse(json.dumps(self.body()), status=self.status, content_type=MEDIA_TYPE, headers=headers)


class ApiError(HelicaseError):
    """A request that no service was asked about."""

    def __init__(
        self, status: int, reason: Reason, *, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None, **said: object
    ) -> None:
        super().__init__(reason.say(**said), code=str(reason))
        self.problem = Problem(status, str(reason), str(self), errors, headers or {})


def problem_of(error: Exception, *, pointers: Mapping[str, str] | None = None) -> Problem:
    """What an exception is to the one who asked. `pointers`: where in the body a field of `InvalidOrder` stands."""
    if isinstance(error, ApiError):
        return error.problem
    if isinstance(error, RequestDataTooBig):
        return Problem(413, str(Reason.API_TOO_LARGE), "The body is larger than is taken here.")
    if isinstance(error, _UNREADABLE):
        return Problem(400, str(Reason.API_MALFORMED), Reason.API_MALFORMED.say(detail="its body or its headers are no valid HTTP"))
    for kind, status, reason in _STATUS:
        if isinstance(error, kind):
            return _known(error, status, reason, pointers or {})
    return Problem(500, str(Reason.API_FAILED), Reason.API_FAILED.say(reference=noted("interop.failed", error)))


def _known(error: Exception, status: int, reason: ReasonCode, pointers: Mapping[str, str]) -> Problem:
    code = error.code if isinstance(error, HelicaseError) and error.code else str(reason)
    detail = str(error) if isinstance(error, Refused | Stale) else reason.words
    if isinstance(error, InvalidOrder | InvalidQuestion):
        faults = [
            Fault(words, pointer=pointers.get(name, f"/{name}" if name else ""))
            for name, said in error.fields.items()
            for words in said
        ]
        return Problem(status, code, reason.words, faults)
    if status == HTTPStatus.PRECONDITION_FAILED:
        detail = "Somebody changed this order since you read it. Read it again, then decide."
    if status != HTTPStatus.SERVICE_UNAVAILABLE:
        return Problem(status, code, detail)
    log.warning("interop.unavailable", exc_info=error)
    return Problem(status, code, detail, headers={"Retry-After": "5"})
