"""`keep_calendar`: hours, holidays and choices from the command line, in the name of a director."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.roles import Role
from registry.models import Calendar, ClockChoice
from tests.factories import by, make_test_version

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("keep_calendar", *arguments, stdout=out)
    return out.getvalue()


def test_a_calendar_is_kept_and_chosen(tmp_path):
    test = make_test_version()
    laboratory = test.definition.laboratory
    holidays = tmp_path / "holidays.txt"
    holidays.write_text("2026-12-25 Christmas Day\n")
    week = ("--hours", "mon-fri=08:00-12:00,13:00-17:00", "--hours", "sat=09:00-12:00", "--holidays", str(holidays))
    said = run(laboratory.code, "office", *by(Role.DIRECTOR, laboratory), *week, "--choose", f"{test.definition.code}:routine")
    kept = Calendar.objects.get()
    assert (kept.weekly[0], kept.weekly[5], kept.weekly[6]) == ([[480, 720], [780, 1020]], [[540, 720]], [])
    assert (kept.holidays, ClockChoice.objects.get().calendar_code) == ([["2026-12-25", "Christmas Day"]], "office")
    assert "version 1" in said and "routine: counts by office" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--hours", "fri-mon=08:00-17:00"], "no run of days"), (["--hours", "mon=8-17"], "is no span"),
     (["--choose", "x:routine"], "offers no test"), (["--hours", "mon=08:00-17:00", "--holidays", "/nowhere"], "cannot be read")],
)  # fmt: skip
def test_what_makes_no_sense_ends_with_a_sentence(arguments, words):
    laboratory = make_test_version().definition.laboratory
    with pytest.raises(CommandError, match=words):
        run(laboratory.code, "office", *by(Role.DIRECTOR, laboratory), *arguments)
    assert not Calendar.objects.exists()


def test_only_a_director_decides():
    laboratory = make_test_version().definition.laboratory
    with pytest.raises(CommandError, match="Laboratory director"):
        run(laboratory.code, "office", *by(Role.ANALYST, laboratory), "--hours", "mon-fri=08:00-17:00")
