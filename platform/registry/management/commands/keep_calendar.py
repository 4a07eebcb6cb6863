"""Keep a working calendar of a laboratory, or say by which one the minutes of a test count."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from accounts.models import Organisation
from foundation.errors import Refused
from registry import calendars, hours
from registry.models import TestDefinition


class Command(BaseCommand):
    help = "Keep a working calendar (its next version), and choose which priorities of a test count by it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("laboratory", help="the short code of the organisation")
        parser.add_argument("code", help="short name of the calendar, such as office; with --choose, '' for every minute")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a director of the laboratory")
        parser.add_argument("--name", default="", help="as pages show it")
        parser.add_argument("--hours", action="append", default=[], metavar="DAYS=HOURS", help="mon-fri=08:00-12:00,13:00-17:00")
        parser.add_argument("--holidays", metavar="FILE", help="lines such as: 2026-12-25 Christmas Day")
        parser.add_argument("--choose", action="append", default=[], metavar="TEST:PRIORITY", help="isolate-panel:routine")

    def handle(self, *args: Any, **options: Any) -> None:
        laboratory = Organisation.objects.filter(code=options["laboratory"], is_laboratory=True).first()
        if laboratory is None:
            raise CommandError(f"there is no laboratory {options['laboratory']}", returncode=2)
        try:
            actor = named.person(options["by"])
            if options["hours"]:
                kept = calendars.keep(
                    laboratory=laboratory, code=options["code"], name=options["name"] or options["code"],
                    week=_week(options["hours"]), holidays=_text(options["holidays"]), actor=actor,
                )  # fmt: skip
                self.stdout.write(f"{kept} of {laboratory.name}")
            for said in options["choose"]:
                test, _, priority = said.partition(":")
                definition = TestDefinition.objects.filter(laboratory=laboratory, code=test).first()
                if definition is None:
                    raise CommandError(f"{laboratory.name} offers no test {test}", returncode=2)
                calendars.choose(definition=definition, priority=priority, code=options["code"], actor=actor)
                self.stdout.write(f"{definition.name}, {priority}: counts by {options['code'] or 'every minute'}")
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error


def _week(said: list[str]) -> list[str]:
    """Seven texts from options such as mon-fri=08:00-17:00."""
    days = [day[:3].lower() for day in hours.DAYS]
    week = [""] * 7
    for one in said:
        which, _, text = one.partition("=")
        first, _, last = which.lower().partition("-")
        if first not in days or (last or first) not in days or days.index(last or first) < days.index(first):
            raise CommandError(f"{which} is no day and no run of days; write mon, or mon-fri", returncode=2)
        for number in range(days.index(first), days.index(last or first) + 1):
            week[number] = text
    return week


def _text(path: str | None) -> str:
    try:
        return Path(path).read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}", returncode=2) from error
