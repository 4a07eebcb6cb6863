"""A period as people say it, in days of a zone, and as moments."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo


def moments(asked: dict[str, Any], zone: ZoneInfo) -> tuple[datetime, datetime]:
    """[since, until) of the days in `asked`, the last one included."""
    first, last = date.fromisoformat(asked["since"]), date.fromisoformat(asked["until"])
    return _begin(first, zone), _begin(last + timedelta(days=1), zone)


def words(asked: dict[str, Any]) -> str:
    """1 Nov 2026 to 30 Nov 2026."""
    first, last = (date.fromisoformat(asked[name]) for name in ("since", "until"))
    return _said(first) if first == last else f"{_said(first)} to {_said(last)}"


def _said(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


def _begin(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)
