"""Database work on threads that live long: one connection each, looked after around every unit of work."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, connection

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


def _look_after() -> None:
    if not connection.in_atomic_block:  # a unit within somebody's transaction has nothing to say about its connection
        connection.close_if_unusable_or_obsolete()
