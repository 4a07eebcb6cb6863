"""Whether the worker of a name serves, for health checks."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from engine_queue import selectors


class Command(BaseCommand):
    help = "Exit 0 when the worker of this name holds its lease and takes work, else 1 with one line that says why not."
    requires_system_checks: list[str] = []  # it is asked again and again

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            fault = selectors.fault(options["name"])
        except OperationalError as error:
            raise CommandError(f"the database cannot be used: {str(error).splitlines()[0]}", returncode=1) from error
        if fault:
            raise CommandError(fault, returncode=1)
