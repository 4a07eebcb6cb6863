"""Where a page of a list ended, and parameters that cannot be used."""

import base64
import binascii
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from inspect import signature
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from foundation.reasons import Reason
from interop.api.security import ApiRequest
from interop.moments import in_utc
from interop.problems import ApiError, Fault

P = ParamSpec("P")
Answer = TypeVar("Answer")


def named_alone(view: Callable[Concatenate[ApiRequest, P], Answer]) -> Callable[Concatenate[ApiRequest, P], Answer]:
    """A route that refuses what it does not name, and what is said twice: a lost filter would list what was not asked for."""
    names = signature(view).parameters

    @wraps(view)
    def asked(request: ApiRequest, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        unknown = [Fault("is no parameter here", parameter=name[:80]) for name in request.GET if name not in names]
        twice = [Fault("is said twice", parameter=name[:80]) for name in request.GET if len(request.GET.getlist(name)) > 1]
        if unknown or twice:
            raise ApiError(422, Reason.API_INVALID, errors=[*unknown, *twice])
        return view(request, *args, **kwargs)

    return asked


def cursor(*parts: object) -> str:
    """Where a page ended, opaque."""
    return base64.urlsafe_b64encode("|".join(map(str, parts)).encode()).decode().rstrip("=")


def read_cursor(text: str, count: int) -> list[str]:
    """Its parts. Raises `ApiError`."""
    try:
        parts = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split("|")
    except (binascii.Error, UnicodeDecodeError):
        parts = []
    if len(parts) != count:
        raise bad_parameter("after", "is no cursor that this list has given")
    return parts


def place(text: str) -> tuple[datetime, UUID]:
    """The moment and the id of the row that a page ended with. Raises `ApiError`."""
    moment, pk = read_cursor(text, 2)
    try:
        return in_utc(datetime.fromisoformat(moment)), UUID(pk)
    except ValueError as error:
        raise bad_parameter("after", "is no cursor that this list has given") from error


def bad_parameter(name: str, detail: str) -> ApiError:
    """A parameter that cannot be used."""
    return ApiError(422, Reason.API_INVALID, errors=[Fault(detail, parameter=name)])
