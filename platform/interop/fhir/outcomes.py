"""OperationOutcome: what stands against a request, each with our reason code, words, and where in what was sent.

foundation.HelicaseError
└── FhirError    a request that is not done, with every issue
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse

from foundation.errors import HelicaseError
from foundation.reasons import Reason
from interop.fhir import systems
from interop.problems import NO_STORE, Problem

MEDIA_TYPE = "application/fhir+json"
TYPES = {  # status of HTTP → code of an issue
    400: "structure",
    401: "login",
    403: "forbidden",
    404: "not-found",
    405: "not-supported",
    406: "not-supported",
    409: "conflict",
    412: "conflict",
    413: "too-long",
    415: "not-supported",
    422: "business-rule",
    429: "throttled",
    503: "transient",
}


@dataclass(frozen=True)
class Issue:
    """One thing to say. `expression` is FHIRPath into what was sent; without one, it is about the request."""

    type: str  # of `valuesets.ISSUE_TYPE`
    code: str  # ours
    text: str
    expression: str = ""
    severity: str = "error"


class FhirError(HelicaseError):
    """A request that was not done."""

    def __init__(self, status: int, issues: Sequence[Issue], headers: Mapping[str, str] | None = None) -> None:
        super().__init__(issues[0].text, code=issues[0].code)
        self.status, self.issues, self.headers = status, issues, headers or {}


def refused(reason: Reason, expression: str, *, type: str, status: int = 422, **said: object) -> FhirError:
    """One issue, as an error to raise."""
    return FhirError(status, [Issue(type, str(reason), reason.say(**said), expression)])


def resource(issues: Sequence[Issue]) -> dict[str, Any]:
    """The OperationOutcome."""
    return {"resourceType": "OperationOutcome", "issue": [_issue(issue) for issue in issues]}


def issues_of(problem: Problem) -> list[Issue]:
    """A refusal of our other interfaces, said as FHIR says it."""
    kind = TYPES.get(problem.status, "exception")
    said = [Issue(kind, problem.code, fault.detail) for fault in problem.errors]
    return said or [Issue(kind, problem.code, problem.detail)]


def answer(status: int, issues: Sequence[Issue], headers: Mapping[str, str] | None = None) -> HttpResponse:
    """The response; no cache keeps it."""
    more = {"Cache-Control": NO_STORE, **(headers or {})}
    return HttpResponse(json.dumps(resource(issues)), status=status, content_type=MEDIA_TYPE, headers=more)


def of_problem(problem: Problem) -> HttpResponse:
    """Problem details as an OperationOutcome."""
    return answer(problem.status, issues_of(problem), problem.headers)


def _issue(issue: Issue) -> dict[str, Any]:
    details = {"coding": [{"system": systems.REASON, "code": issue.code}], "text": issue.text}
    where = {"expression": [issue.expression]} if issue.expression else {}
    return {"severity": issue.severity, "code": issue.type, "details": details, **where}
