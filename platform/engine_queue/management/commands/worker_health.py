"""Whether the worker of a name serves, for health checks, and its figures, for whoever collects them."""

import json
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from engine_queue import selectors


class Command(BaseCommand):
    help = "Exit 0 when the worker of this name holds its lease and takes work, else 1 with one line that says why not."
    requires_system_checks: list[str] = []  # it is asked again and again

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument(
            "--json", action="store_true", help="print what the worker last said of itself, every counter of its engines"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            fault = selectors.fault(options["name"])
            figures = selectors.figures(options["name"]) if options["json"] else {}
        except OperationalError as error:
            raise CommandError(f"the database cannot be used: {str(error).splitlines()[0]}", returncode=1) from error
        if options["json"]:
            self.stdout.write(json.dumps({**figures, "fault": fault}, indent=1))
        if fault:
            raise CommandError(fault, returncode=1)
