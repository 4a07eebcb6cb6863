"""Freeze how a test's results are distributed, for later ones to be measured against."""

from datetime import date
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from accounts.models import Organisation
from drift import references
from drift.references import Period
from foundation.errors import Refused
from registry.models import TestVersion


class Command(BaseCommand):
    help = "Freeze how a test's results of some days are distributed, for later ones to be measured against; what was frozen ends."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--test", required=True, metavar="CODE", help="its newest version counts, or CODE:NUMBER")
        parser.add_argument("--laboratory", default="", metavar="CODE", help="where more than one offers a test of this code")
        parser.add_argument("--since", required=True, metavar="DAY", type=date.fromisoformat, help="such as 2026-11-01 (UTC)")
        parser.add_argument("--until", required=True, metavar="DAY", type=date.fromisoformat, help="the last day, before today")
        parser.add_argument(
            "--by", required=True, metavar="EMAIL", help="who decides; a director or model steward of the laboratory"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = references.freeze(
                actor=named.person(options["by"]),
                test=_test(options["test"], options["laboratory"]),
                period=Period(options["since"], options["until"]),
            )
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        for one in made:
            self.stdout.write(f"{one.feature}: {one.n:,} results in {len(one.counts)} bins, sha256 {one.sha256}")


def _test(text: str, laboratory: str) -> TestVersion:
    code, _, number = text.partition(":")
    found = TestVersion.objects.filter(definition__code=code).select_related("definition", "deployment__model_version")
    if laboratory:
        found = found.filter(definition__laboratory__in=Organisation.objects.filter(code=laboratory))
    if number:
        found = found.filter(number=int(number)) if number.isdigit() else found.none()
    owners = set(found.values_list("definition_id", flat=True))
    if len(owners) != 1:
        raise CommandError(f"{len(owners)} laboratories offer a test {text}: name one with --laboratory", returncode=2)
    return found.order_by("-number")[0]
