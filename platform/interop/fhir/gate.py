"""Around every FHIR address: who asks, in which form the answer is wanted, an OperationOutcome for what is not done."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils.http import http_date
from django.views.decorators.csrf import csrf_exempt

from accounts.roles import Verb
from foundation.actor import NOBODY, Actor
from foundation.errors import NotPermitted
from foundation.reasons import Reason
from interop.authentication import actor_of
from interop.fhir import outcomes
from interop.fhir.outcomes import MEDIA_TYPE, FhirError
from interop.problems import NO_STORE, ApiError, problem_of

View = Callable[..., HttpResponse]
JSON = (MEDIA_TYPE, "application/json")
FORMATS = {"json", *JSON, "application/fhir json"}  # the last: a plus sign that nobody escaped


def served(methods: Mapping[str, View], verbs: Mapping[str, tuple[Verb, ...]]) -> View:
    """One address. A method without verbs is open to everybody."""
    allowed = ", ".join(methods)

    @csrf_exempt
    @login_not_required
    @wraps(next(iter(methods.values())))
    def answered(request: HttpRequest, **named: Any) -> HttpResponse:
        try:
            method = "GET" if request.method == "HEAD" and "GET" in methods else request.method or ""
            if method not in methods:
                raise ApiError(405, Reason.API_METHOD, headers={"Allow": allowed}, method=method[:20], allowed=allowed)
            _acceptable(request)
            actor = _actor(request, verbs[method])
            response = methods[method](request, actor, **named)
        except Exception as error:  # noqa: BLE001 -- the edge: whatever happens is told as an OperationOutcome
            return failed(error)
        response.setdefault("Cache-Control", NO_STORE)
        return response

    return answered


def failed(error: Exception) -> HttpResponse:
    """What an exception is to the one who asked."""
    if isinstance(error, FhirError):
        return outcomes.answer(error.status, error.issues, error.headers)
    return outcomes.of_problem(problem_of(error))


def given(resource: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A resource as the answer."""
    meta = resource.get("meta", {})
    more = {"ETag": f'W/"{meta["versionId"]}"', "Last-Modified": _http_date(meta["lastUpdated"])} if "versionId" in meta else {}
    body = json.dumps(resource, ensure_ascii=False)
    return HttpResponse(body, status=status, content_type=MEDIA_TYPE, headers={**more, **(headers or {})})


def _http_date(text: str) -> str:
    return http_date(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def require_json(request: HttpRequest) -> None:
    """Raises `ApiError` where the body is said to be something else."""
    if request.content_type not in JSON:
        raise ApiError(415, Reason.API_MEDIA_TYPE, wanted=MEDIA_TYPE, given=(request.content_type or "nothing")[:80])


def _acceptable(request: HttpRequest) -> None:
    """`_format` goes before the header, as FHIR says."""
    asked = request.GET.get("_format")
    if (asked not in FORMATS) if asked is not None else not any(request.accepts(form) for form in JSON):
        raise ApiError(406, Reason.API_NOT_ACCEPTABLE, offered=MEDIA_TYPE)


def _actor(request: HttpRequest, verbs: tuple[Verb, ...]) -> Actor:
    if not verbs:
        return Actor(id=NOBODY, name="anybody")
    actor = actor_of(request)
    missing = [verb for verb in verbs if not actor.organisations(verb)]
    if missing:
        words = f"This needs the right “{missing[0]}”, which the token was not given or its owner does not have."
        raise NotPermitted(words, code=str(Reason.ACCESS_NOT_PERMITTED))
    return actor
