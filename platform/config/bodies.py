"""How much a request may send, and a person at once. Decided before a byte is kept.

Django writes a whole body to disk before it looks who sends it.
"""

import asyncio
import functools
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast
from uuid import UUID

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie
from django.template.loader import render_to_string
from django.urls import reverse

from accounts import tokens
from casefile import attachments
from config.session_store import SessionStore
from dashboard import context
from foundation.reasons import Reason
from interop.authentication import bearer
from interop.fhir import outcomes
from interop.fhir.urls import TAKING
from interop.problems import MEDIA_TYPE, ApiError

Message = Mapping[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]

SMALL = 1024 * 1024  # bytes: every form without a file
LINGER_S = 3.0  # how long a refused sender is still listened to: a socket closed at once takes the answer with it
UPLOADS = ("order-new", "order-input", "bulk-new")  # the addresses that take a file
FOR_PROGRAMS = ("/api/", "/fhir")  # below them, a token says who sends, and no page is answered
API_UPLOADS = ("api-v1:intakes",)
ATTACHED = re.compile(r"/orders/[0-9a-f-]{36}/files")  # and those that take one to be laid beside an order
FHIR_UPLOADS = TAKING  # the file is a text in JSON there, and has to fit memory
AT_ONCE = 2  # files that one person may be sending to this process; each may take UPLOAD_LIMIT of its disk


class LimitedBody:
    """Refuses a person's third file, and what is too large: as announced, and as it comes when nothing true was announced."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.sending: Counter[UUID] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        announced = _announced(scope)
        sender = None if announced is not None and announced <= SMALL else await _sender(scope)
        limit = SMALL if sender is None else _most(_path(scope))
        if announced is not None and announced > limit:
            await _refuse(413, scope, receive, send)
        elif sender is None:
            await self._take(limit, scope, receive, send)
        elif self.sending[sender] >= AT_ONCE:
            await _refuse(429, scope, receive, send)
        else:
            self.sending[sender] += 1
            try:
                await self._take(limit, scope, receive, send)
            finally:
                self.sending -= Counter([sender])  # keeps nobody who sends nothing

    async def _take(self, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
        counted = _Counted(receive, limit)
        await self.application(scope, counted, send)
        if counted.exceeded:
            await _refuse(413, scope, receive, send)


class _Counted:
    """Hands the body on. Past the limit it says that the sender has left: Django then drops what it has, and answers nothing."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self.receive = receive
        self.left = limit
        self.exceeded = False

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        self.exceeded = self.left < 0
        return {"type": "http.disconnect"} if self.exceeded else message


async def _sender(scope: Scope) -> UUID | None:
    """Who may send a file here; None where nobody may, or nobody is logged in."""
    if _path(scope) in _upload_paths(API_UPLOADS) | _upload_paths(FHIR_UPLOADS):
        return cast(UUID | None, await _by_token(_header(scope, b"authorization")))
    takes = _path(scope) in _upload_paths(UPLOADS) or ATTACHED.fullmatch(_path(scope))
    return await _signed_in(_session_key(scope)) if takes else None


def _most(path: str) -> int:
    """Bytes: file, text, rest."""
    if ATTACHED.fullmatch(path):
        return attachments.LIMIT + SMALL
    if path in _upload_paths(FHIR_UPLOADS):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return settings.UPLOAD_LIMIT + settings.DATA_UPLOAD_MAX_MEMORY_SIZE + SMALL


def _announced(scope: Scope) -> int | None:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else None


def _path(scope: Scope) -> str:
    return cast(str, scope["path"]).removeprefix(scope.get("root_path", ""))


@functools.cache
def _upload_paths(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(reverse(name) for name in names)


def _header(scope: Scope, wanted: bytes) -> str:
    return next((value.decode("latin1") for name, value in scope["headers"] if name == wanted), "")


def _session_key(scope: Scope) -> str | None:
    cookies = b",".join(value for name, value in scope["headers"] if name == b"cookie")  # joined as Django joins them
    return parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)


@database_sync_to_async  # type: ignore[untyped-decorator]  # channels carries no types
def _signed_in(session_key: str | None) -> UUID | None:
    """Whose session it is: anybody can send a cookie."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = get_user(request)
    return user.pk if user.is_authenticated else None


@database_sync_to_async  # type: ignore[untyped-decorator]  # channels carries no types
def _by_token(header: str) -> UUID | None:
    """Whose open token this is."""
    return tokens.owner_of(bearer(header))


async def _refuse(status: int, scope: Scope, receive: Receive, send: Send) -> None:
    for_programs = _path(scope).startswith(FOR_PROGRAMS)
    fhir = _path(scope).startswith("/fhir")
    page = (_problem(status, fhir=fhir) if for_programs else _words(status, scope)).encode()
    kind = outcomes.MEDIA_TYPE if fhir else MEDIA_TYPE
    headers = [
        (b"content-type", kind.encode() if for_programs else b"text/html; charset=utf-8"),
        (b"content-length", str(len(page)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page, "more_body": True})
    await _linger(receive)
    await send({"type": "http.response.body"})


def _words(status: int, scope: Scope) -> str:
    """A page; for the upload script the panel it replaces."""
    limit = f"{settings.UPLOAD_LIMIT // 1_000_000} MB"
    if any(name == b"hx-request" for name, _ in scope["headers"]):
        said = {
            413: f"This is too much at once: only somebody who is logged in may send a file, of up to {limit}.",
            429: f"You are sending {AT_ONCE} files already. Wait until one of them has arrived, then check this one.",
        }
        return render_to_string("dashboard/parts/verdict.html", {"input_errors": [said[status]]})
    return render_to_string(f"{status}.html", {**context.plain(), "limit": limit, "at_once": AT_ONCE})


def _problem(status: int, *, fhir: bool = False) -> str:
    """The same for a program."""
    if status == 413:
        known = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if fhir else settings.UPLOAD_LIMIT
        limit = f"{SMALL:,}, or for an upload with a valid token {known:,}"
        problem = ApiError(413, Reason.API_TOO_LARGE, limit=limit).problem
    else:
        problem = ApiError(429, Reason.API_TOO_MANY_UPLOADS, count=AT_ONCE).problem
    return json.dumps(outcomes.resource(outcomes.issues_of(problem)) if fhir else problem.body())


async def _linger(receive: Receive) -> None:
    """Read on for a moment, and keep nothing."""
    try:
        async with asyncio.timeout(LINGER_S):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        return
