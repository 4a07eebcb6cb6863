"""Bring a calibration table into the registry."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.errors import Refused
from registry import calibration
from registry.models import TestVersion


class Command(BaseCommand):
    help = "Keep a table of Δ and probability for what a test pins; `offer_test --calibration` then makes a version that shows it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", type=Path, help="CSV with the heading delta,probability")
        parser.add_argument("--test", required=True, help="code of a test that is offered")
        parser.add_argument("--source", required=True, help="the variants and labels it was made from")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a model steward")

    def handle(self, *args: Any, **options: Any) -> None:
        offered = TestVersion.objects.select_related("deployment__model_version").filter(offered=True)
        test = offered.filter(definition__code=options["test"]).first()
        if test is None:
            raise CommandError(f"no test {options['test']} is offered", returncode=2)
        try:
            made = calibration.register(
                model_version=test.deployment.model_version, protocol=test.protocol, precision=test.deployment.precision,
                text=options["table"].read_text(encoding="utf-8"), source=options["source"], actor=named.person(options["by"]),
            )  # fmt: skip
        except (Refused, OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"{made}, {test.protocol}: {len(made.rows)} rows, SHA-256 {made.sha256}")
        self.stdout.write(f"show it: manage.py offer_test {options['test']} … --calibration {made.sha256[:12]}")
