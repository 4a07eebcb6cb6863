"""Have the common variants of a region scored, for orders to be seen beside."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.errors import Refused
from registry.models import Frequencies, TestVersion
from reports import backgrounds


class Command(BaseCommand):
    help = "Score registered common variants as a test does, below every order in the queue; reports then show ranks among them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("test", help="code of a test that is offered")
        parser.add_argument("--frequencies", required=True, help="name of registered frequencies")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a model steward")

    def handle(self, *args: Any, **options: Any) -> None:
        offered = TestVersion.objects.select_related("deployment", "reference", "definition__laboratory").filter(offered=True)
        test = offered.filter(definition__code=options["test"]).first()
        frequencies = Frequencies.objects.filter(name=options["frequencies"]).first()
        if test is None or frequencies is None:
            missing = (
                f"no test {options['test']} is offered" if test is None else f"there are no frequencies {options['frequencies']}"
            )
            raise CommandError(missing, returncode=2)
        try:
            made, new = backgrounds.ask(test=test, frequencies=frequencies, actor=named.person(options["by"]))
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        if made.sha256:
            scored = f"{len(made.deltas):,} scored, {made.failed:,} could not be; SHA-256 {made.sha256}"
        else:
            scored = f"{made.run.items_done:,} of {made.run.items_total:,} scored; it goes on when no order waits"
        self.stdout.write(f"background of {test} beside {frequencies.name}{'' if new else ', known already'}: {scored}")
