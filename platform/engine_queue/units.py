"""Database work on threads that live long: one connection each, looked after around every unit of work."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

Thread = TypeVar("Thread")

AWAY = (OperationalError, InterfaceError)
"""The database is away, restarting, or chose this transaction as a victim: the same unit may be tried again."""


@contextmanager
def unit() -> Iterator[None]:
    """One unit of work. A connection that broke is dropped before and after it, so that no unit inherits a dead one."""
    _look_after()
    try:
        yield
    finally:
        _look_after()


@contextmanager
def alone(lock: int) -> Iterator[bool]:
    """Whether nobody else holds this advisory lock; where nobody does it is ours until the block ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
        locked = bool(cursor.fetchone()[0])
    try:
        yield locked
    finally:
        if locked:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])


def own_connection(run: Callable[[Thread], None]) -> Callable[[Thread], None]:
    """For the `run` of a thread: its connection ends with it."""

    @functools.wraps(run)
    def closing(thread: Thread) -> None:
        try:
            run(thread)
        finally:
            connection.close()

    return closing


def _look_after() -> None:
    if not connection.in_atomic_block:  # a unit within somebody's transaction has nothing to say about its connection
        connection.close_if_unusable_or_obsolete()
