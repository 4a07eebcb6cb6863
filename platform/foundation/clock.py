"""The only source of time in the platform: aware, UTC. Tests replace `_source`."""

from collections.abc import Callable
from datetime import UTC, datetime


def _system() -> datetime:
    return datetime.now(UTC)


_source: Callable[[], datetime] = _system


def now() -> datetime:
    """The present moment, aware and in UTC."""
    return _source()
