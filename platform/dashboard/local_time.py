"""Times that people type: digits by the wall clock of their site, read without guessing. A time that came twice is asked back."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


class Unclear(ValueError):
    """The digits name no moment, or two; the message says which and what to do."""


def read(text: str, fold: str, zone: ZoneInfo) -> datetime:
    """The moment of `2026-10-25T02:30`; `fold` chooses of two: "0" the first. Raises `Unclear`."""
    try:
        naive = datetime.fromisoformat(text.strip()[:19]).replace(tzinfo=None)
    except ValueError:
        raise Unclear("This is no date and time.") from None
    if not 1900 < naive.year < 2200:
        raise Unclear("This year cannot be meant.")
    first, second = naive.replace(tzinfo=zone, fold=0), naive.replace(tzinfo=zone, fold=1)
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != naive:
        raise Unclear(f"The clocks skipped this time in {zone.key}: it did not exist.")
    if is_twofold(naive, zone) and fold not in ("0", "1"):
        raise Unclear(f"The clocks were put back: this time came twice in {zone.key}. Say which one.")
    return (second if fold == "1" else first).astimezone(UTC)


def is_twofold(naive: datetime, zone: ZoneInfo) -> bool:
    """Whether the clock on the wall showed this twice."""
    offsets = {naive.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)}
    return len(offsets) == 2 and naive.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == naive


def asks_back(text: str, zone: ZoneInfo) -> bool:
    """Whether a form has to ask which of two moments these digits mean."""
    try:
        return is_twofold(datetime.fromisoformat(text).replace(tzinfo=None), zone)
    except ValueError:
        return False


def shown(moment: datetime, zone: ZoneInfo) -> str:
    """As a form field wants it."""
    return f"{moment.astimezone(zone):%Y-%m-%dT%H:%M}"
