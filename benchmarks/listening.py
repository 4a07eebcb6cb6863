"""Pages opened as a browser does, by the views themselves, with every query of theirs timed; and queries asked again alone."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from benchmarks.many_pages import PEOPLE, Ask
from benchmarks.measured import NotMeasured


@dataclass
class Seen:
    """The times of one query, in milliseconds, and the query as it was asked first."""

    statement: str
    parameters: Any
    times: list[float] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The same for the same question."""
        return f"{self.statement} {self.parameters}"

    @property
    def reads(self) -> bool:
        """It can be asked again without changing anything."""
        return self.statement.startswith(("SELECT", "(SELECT", "WITH"))


@dataclass
class Opened:
    """A page: how long it took each time, in milliseconds, and its queries by their number."""

    ask: Ask
    times: list[float] = field(default_factory=list)
    queries: dict[int, Seen] = field(default_factory=dict)


def setup() -> None:
    """What a page needs of this process; nobody is signed in and no token made while something is timed."""
    from django.conf import settings

    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    for who in PEOPLE:
        _browser(who)
        _token(who)


def opened(known: dict[str, Opened], ask: Ask) -> None:
    """Open a page."""
    browser = _browser(ask.who)
    headers = {"Authorization": f"Bearer {_token(ask.who)}"} if ask.part in ("API", "FHIR") else {}
    page = known.setdefault(ask.key, Opened(ask))
    with _heard(page):
        begun = time.perf_counter()
        answer = browser.get(ask.address, headers=headers)
        page.times.append((time.perf_counter() - begun) * 1e3)
    if answer.status_code not in (200, 302) or answer.headers.get("Location", "").startswith("/login"):
        raise NotMeasured(f"{ask.key} answered {answer.status_code}: {answer.content[:300]!r}")


def again(query: Seen, *, empty: psycopg.Connection[Any] | None) -> None:
    """Ask a query of a page alone; where `empty` is given, it empties the buffers of the database, and the connection is fresh."""
    from django.db import connection

    if empty is not None:
        connection.close()
        connection.ensure_connection()
        empty.execute("SELECT pg_buffercache_evict_all()")
    with connection.cursor() as cursor:
        begun = time.perf_counter()
        cursor.execute(query.statement, query.parameters)
        query.times.append((time.perf_counter() - begun) * 1e3)
        cursor.fetchall()


@contextmanager
def _heard(page: Opened) -> Iterator[None]:
    from django.db import connection

    numbers = iter(range(10_000))

    def hear(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        begun = time.perf_counter()
        try:
            return execute(statement, parameters, many, context)
        finally:
            seen = page.queries.setdefault(next(numbers), Seen(statement, parameters))
            seen.times.append((time.perf_counter() - begun) * 1e3)

    with connection.execute_wrapper(hear):
        yield


@functools.cache
def _browser(who: str) -> Any:
    from django.test import Client

    from accounts.models import User

    client = Client()
    client.force_login(User.objects.get(email=PEOPLE[who]))
    return client


@functools.cache
def _token(who: str) -> str:
    from accounts import tokens
    from accounts.models import User
    from accounts.services import actor_for

    user = User.objects.get(email=PEOPLE[who])
    return tokens.create(actor=actor_for(user), owner=user, name="benchmark", scopes=["view_order"], days=1)[1]
