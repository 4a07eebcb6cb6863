"""Due times and used time against a counter that looks at a wall clock once a minute, also in nights on which clocks are set."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.clocks import NeverDue, Working, due, elapsed
from registry.hours import BadHours, Hours, parse_holidays, parse_week, read, written

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
OFFICE = parse_week(["08:00-12:00, 13:00-17:00"] * 5 + ["", ""])
NIGHTS = parse_week(["22:00-06:00"] * 7)
ALWAYS = parse_week(["00:00-24:00"] * 7)
ODD = parse_week(["00:30-02:30", "", "02:15-02:45, 23:59-24:00", "01:00-03:00", "", "22:00-06:00", "07:00-08:00"])
WEEKS = {"office": OFFICE, "nights": NIGHTS, "always": ALWAYS, "odd": ODD}
# Around the nights of spring and autumn; Lord Howe sets its clocks by half an hour, Kolkata stands half an hour beside all others.
NIGHTS_OF = {
    "Europe/Berlin": [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)],
    "America/New_York": [datetime(2026, 3, 8, 6, tzinfo=UTC), datetime(2026, 11, 1, 5, tzinfo=UTC)],
    "Australia/Lord_Howe": [datetime(2026, 10, 3, 15, tzinfo=UTC), datetime(2026, 4, 4, 15, tzinfo=UTC)],
    "Asia/Kolkata": [datetime(2026, 3, 29, tzinfo=UTC)],
}
moments = st.sampled_from([(zone, night) for zone, nights in NIGHTS_OF.items() for night in nights])


def at(week: str, zone: str, *holidays: date) -> Working:
    return Working(Hours(read(WEEKS[week], []).weekly, frozenset(holidays)), ZoneInfo(zone))


def counts(moment: datetime, working: Working | None, pauses: list[tuple[datetime, datetime]]) -> bool:
    """Whether the minute that begins now counts, by the clock on the wall."""
    if any(begins <= moment < ends for begins, ends in pauses):
        return False
    if working is None:
        return True
    wall = moment.astimezone(working.zone)
    minute = wall.hour * 60 + wall.minute
    return any(opens <= minute < closes for opens, closes in working.hours.of(wall.date()))


@st.composite
def cases(draw: st.DrawFn):
    zone, night = draw(moments)
    start = night + draw(st.integers(-1500, 600)) * MINUTE
    holidays = draw(st.lists(st.sampled_from([night.date() + n * DAY for n in (-1, 0, 1)]), max_size=2))
    working = draw(st.sampled_from([None, *(at(week, zone, *holidays) for week in WEEKS)]))
    edges = draw(st.lists(st.tuples(st.integers(-200, 2500), st.integers(0, 400)), max_size=3))
    return start, working, [(start + begins * MINUTE, start + (begins + lasts) * MINUTE) for begins, lasts in edges]


@given(cases(), st.integers(0, 3000))
def test_used_time_is_what_a_minute_counter_counts(case, length: int) -> None:
    start, working, pauses = case
    counted = sum(counts(start + n * MINUTE, working, pauses) for n in range(length))
    assert elapsed(start, start + length * MINUTE, working, pauses) == counted * MINUTE


@given(cases(), st.integers(1, 900))
def test_a_due_time_is_the_first_moment_with_so_many_minutes_behind_it(case, minutes: int) -> None:
    start, working, pauses = case
    found = due(start, minutes, working, pauses)
    assert elapsed(start, found, working, pauses) == minutes * MINUTE
    assert elapsed(start, found - MINUTE, working, pauses) == (minutes - 1) * MINUTE


@given(cases(), st.integers(0, 900), st.integers(0, 900))
def test_later_work_is_never_due_earlier(case, first: int, more: int) -> None:
    start, working, pauses = case
    assert due(start, first, working, pauses) <= due(start, first + more, working, pauses)


@pytest.mark.parametrize(
    ("start", "minutes", "working", "expected"),
    [
        # Friday 16:30 in Berlin, one hour: Monday 08:30, on the other side of the spring night
        ("2026-03-27T15:30", 60, at("office", "Europe/Berlin"), "2026-03-30T06:30"),
        # the same before Easter Monday
        ("2026-04-03T14:30", 60, at("office", "Europe/Berlin", date(2026, 4, 6)), "2026-04-07T06:30"),
        # exactly to the end of the day, and one minute more
        ("2026-03-30T14:00", 60, at("office", "Europe/Berlin"), "2026-03-30T15:00"),
        ("2026-03-30T14:00", 61, at("office", "Europe/Berlin"), "2026-03-31T06:01"),
        # 22:00 to 06:00 has seven hours in the spring night and nine in the autumn night
        ("2026-03-28T21:00", 7 * 60, at("nights", "Europe/Berlin"), "2026-03-29T04:00"),
        ("2026-10-24T20:00", 9 * 60, at("nights", "Europe/Berlin"), "2026-10-25T05:00"),
        # every hour of every day is elapsed time, whatever is done to the clocks
        ("2026-03-28T21:00", 1440, at("always", "America/New_York"), "2026-03-29T21:00"),
        ("2026-03-28T21:00", 1440, None, "2026-03-29T21:00"),
        ("2026-03-28T21:00", 0, at("office", "Europe/Berlin"), "2026-03-28T21:00"),
    ],
)
def test_due_times_that_can_be_worked_out_by_hand(start: str, minutes: int, working: Working | None, expected: str) -> None:
    found = due(datetime.fromisoformat(start).replace(tzinfo=UTC), minutes, working)
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_calendar_without_an_hour_left_says_so_instead_of_looking_for_ever() -> None:
    with pytest.raises(NeverDue):
        due(datetime(2026, 1, 1, tzinfo=UTC), 1, Working(Hours(((),) * 7), ZoneInfo("UTC")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8-17", "is no span"), ("25:00-26:00", "no such time"), ("08:61-09:00", "no such time"), ("08:00-08:00", "no time at all"),
        ("08:00-12:00, 11:00-13:00", "overlap"), ("", "At least one day"),
    ],
)  # fmt: skip
def test_hours_that_make_no_sense_are_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(BadHours, match=said):
        parse_week([text, *[""] * 6])


def test_a_night_shift_that_meets_the_next_day_is_told() -> None:
    with pytest.raises(BadHours, match="Tuesday: two of the spans overlap"):
        parse_week(["22:00-06:00", "05:00-09:00", *[""] * 5])


@pytest.mark.parametrize("text", ["25.12.2026 Christmas", "2026-12-25", "2026-12-25 A\n2026-12-25 B", f"2026-12-25 {'x' * 61}"])
def test_a_holiday_has_a_date_and_a_name_once(text: str) -> None:
    with pytest.raises(BadHours, match="Line"):
        parse_holidays(text)


def test_what_was_read_is_written_as_it_was() -> None:
    assert list(written(OFFICE).values()) == ["08:00-12:00, 13:00-17:00"] * 5 + ["", ""]
    assert parse_holidays("2026-12-26 Boxing  Day\n\n2026-12-25 Christmas Day") == [
        ["2026-12-25", "Christmas Day"], ["2026-12-26", "Boxing Day"],
    ]  # fmt: skip
