"""Have a worker that runs leave a deployment, after what it computes of it."""

from typing import Any

from django.core.management import BaseCommand, CommandParser

from engine_queue import asking


class Command(BaseCommand):
    help = "Drain a deployment on one worker and free its memory; its other deployments go on. Prints how long it took."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("worker", help="its name")
        parser.add_argument("deployment")
        asking.add_options(parser, drains=True)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(asking.send("unload", options["deployment"], options))
