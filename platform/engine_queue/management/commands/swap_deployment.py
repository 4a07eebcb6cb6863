"""Have a worker that runs serve one deployment in place of another."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from engine_queue import asking


class Command(BaseCommand):
    help = "Load NEW on a worker, then drain and unload OLD: nothing is unloaded unless NEW serves. Prints how long each took."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("worker", help="its name")
        parser.add_argument("old")
        parser.add_argument("new")
        parser.add_argument("--drain-first", action="store_true", help="where the machine cannot hold both: OLD goes first")
        asking.add_options(parser, drains=True)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["wait"]:
            raise CommandError("a swap is two errands, one after the other: it has to --wait for the first", returncode=2)
        steps = [("load", options["new"]), ("unload", options["old"])]
        for verb, deployment in reversed(steps) if options["drain_first"] else steps:
            self.stdout.write(asking.send(verb, deployment, options))
