"""Moments as programs write them, with any offset from UTC: those in the years that can be kept."""

from datetime import UTC, datetime


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC. Raises `ValueError` where it names no offset, or lies outside the years 1 to 9999."""
    if moment.tzinfo is None:
        raise ValueError("has to name its offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("has to lie in the years 1 to 9999 of UTC") from error


def keepable(moment: datetime) -> datetime:
    """The moment as it is written. Raises as `in_utc` does."""
    in_utc(moment)
    return moment
