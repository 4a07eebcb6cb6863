"""Where a page of a list ended, and parameters that cannot be used."""

import base64
import binascii
from datetime import datetime
from uuid import UUID

from foundation.reasons import Reason
from interop.moments import in_utc
from interop.problems import ApiError, Fault


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
