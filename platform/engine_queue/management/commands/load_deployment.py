"""Have a worker that runs serve one more deployment."""

from typing import Any

from django.core.management import BaseCommand, CommandParser

from engine_queue import asking


class Command(BaseCommand):
    help = "Load a deployment beside those a worker serves; prints how long it took. Nothing else is held up."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("worker", help="its name")
        parser.add_argument("deployment")
        asking.add_options(parser, drains=False)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(asking.send("load", options["deployment"], options))
