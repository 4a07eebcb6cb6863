"""What every POST has in common: it is done once for its key, and answered after the commit."""

import hashlib
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja.params.functions import Header

from foundation.reasons import Reason
from interop.api import shapes
from interop.api.security import ApiRequest
from interop.idempotency import Done, once, request_digest
from interop.problems import NO_STORE, ApiError

KEY: Any = Header(
    None,
    alias="Idempotency-Key",
    pattern=shapes.KEY,
    description="Names this request: sent again with it, it is answered again and not done again. Kept for 48 hours.",
)
SEEN: Any = Header(None, alias="If-Match", description='The ETag of the order as you have seen it, such as `"3"`. Without it: 428.')


def done_once(
    request: ApiRequest, key: str | None, work: Callable[[], Done], *, seen: Callable[[UUID], object], body: str = ""
) -> HttpResponse:
    """Do it, or answer as the first time. `body`: what was uploaded, in a few words; without it the body of the request counts."""
    said = body or hashlib.sha256(request.body).hexdigest()
    digest = request_digest(request.method or "", request.get_full_path(), request.headers.get("If-Match", ""), said)
    done = once(actor=request.auth, key=key or "", digest=digest, work=work, seen=seen)
    headers = {"Cache-Control": NO_STORE, **done.headers, **({"Idempotency-Replayed": "true"} if done.again else {})}
    return HttpResponse(done.body, status=done.status, content_type="application/json", headers=headers)


def edits_seen(if_match: str | None) -> int:
    """The edit that the sender has seen. Raises `ApiError`; what is no ETag of ours matches no order."""
    if if_match is None or if_match.strip() == "*":
        raise ApiError(428, Reason.API_PRECONDITION_MISSING, id="{id}")
    number = if_match.strip().removeprefix('"').removesuffix('"')
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
