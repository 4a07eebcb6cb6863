"""Figures as words."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.template import Context

from dashboard import wording
from dashboard.templatetags import clinical
from foundation.reasons import WORDS
from inspection.event_words import in_full

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (58, "58 s left"), (0, "0 s left"), (-1, "1 s over"), (-200, "3 min over"), (252, "4 min 12 s left"), (300, "5 min left"),
        (2520, "42 min left"), (11_400, "3 h 10 min left"), (75_600, "21 h left"), (260_000, "3 days left"), (-90_000, "25 h over"),
    ],
)  # fmt: skip
def test_time_left_is_said_in_words(seconds: int, words: str) -> None:
    assert wording.time_left(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st"), (112, "112th")],
)
def test_places_are_ordinals(number: int, words: str) -> None:
    assert wording.ordinal(number) == words


def test_a_time_is_shown_in_the_zone_of_the_site() -> None:
    moment = datetime(2026, 11, 29, 13, 7, 12, tzinfo=UTC)
    assert wording.day_and_time(moment, now=moment, zone=BERLIN) == "14:07"
    assert in_full(moment, BERLIN) == "29 Nov 2026 14:07:12 CET"


@pytest.mark.parametrize(("later", "words"), [(0, "14:07:12"), (9, "14:07:12 to 14:07:21")])
def test_a_range_whose_ends_are_said_alike_is_one_time(later: int, words: str) -> None:
    low = datetime(2026, 11, 29, 13, 7, 12, tzinfo=UTC)
    said = clinical.moments(Context({"zone": BERLIN}), low, low + timedelta(seconds=later), "seconds")
    assert re.sub("<[^>]*>|29 Nov ", "", said) == words


def test_a_day_that_differs_only_in_the_zone_of_the_site_is_named_in_that_zone() -> None:
    now = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
    assert wording.day_and_time(datetime(2026, 11, 29, 23, 30, tzinfo=UTC), now=now, zone=BERLIN) == "tomorrow 00:30"


def test_another_year_is_said() -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert wording.day_and_time(datetime(2025, 12, 3, 8, tzinfo=UTC), now=now, zone=BERLIN) == "3 Dec 2025 09:00"


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("Europe/Berlin", "Europe/Berlin, CET, UTC+1"), ("UTC", "UTC"), ("Asia/Kolkata", "Asia/Kolkata, IST, UTC+5:30"),
        ("America/New_York", "America/New_York, EST, UTC−5"),
    ],
)  # fmt: skip
def test_a_zone_cannot_be_mistaken(zone: str, words: str) -> None:
    assert wording.zone_name(datetime(2026, 1, 10, tzinfo=UTC), ZoneInfo(zone)) == words


def test_a_range_is_in_the_unit_of_its_upper_end() -> None:
    assert wording.duration_range(50, 100) == "50 to 100 s"
    assert wording.duration_range(100, 240) == "2 to 4 min"
    assert wording.duration_range(0.2, 0.5) == "less than a second"


@pytest.mark.parametrize("code", list(WORDS) + list(wording.FLAGS) + ["something.new-and_unknown"])
def test_every_code_has_words_without_gaps(code: str) -> None:
    assert "{" not in wording.flag(code) and wording.flag(code).strip()


def test_one_is_singular() -> None:
    assert (wording.counted(1, "job"), wording.counted(2, "job"), wording.counted(1139, "variant")) == (
        "1 job",
        "2 jobs",
        "1,139 variants",
    )
