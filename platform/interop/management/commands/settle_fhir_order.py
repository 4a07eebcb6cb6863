"""Close what came by FHIR and never became an order, or choose the sample of its file, in the name of a person."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.errors import HelicaseError
from interop.fhir import finding, ordering
from orders.errors import InvalidOrder


class Command(BaseCommand):
    help = "Settle an order that came by FHIR and is parked."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", help="the sender's number of the order, or its id")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides")
        deed = parser.add_mutually_exclusive_group(required=True)
        deed.add_argument("--close", metavar="WHY", help="nothing comes of it")
        deed.add_argument("--sample", help="the sample of its file that is the specimen")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = named.person(options["by"])
        found = [row for row in finding.unsettled(actor) if options["number"] in (row.placer_number, str(row.pk))]
        if len(found) != 1:
            said = ", ".join(str(row.pk) for row in found) or "none"
            raise CommandError(f"exactly one parked order has to have this number; found: {said}", returncode=2)
        (row,) = found
        seen: dict[str, Any] = {"actor": actor, "asked": row, "expected_version": row.version}
        try:
            if options["close"] is not None:
                ordering.close(words=options["close"], **seen)
            else:
                ordering.choose_sample(sample=options["sample"], **seen)
        except InvalidOrder as error:
            raise CommandError(" ".join(said for fields in error.fields.values() for said in fields), returncode=2) from error
        except HelicaseError as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"order {row.placer_number}: {'closed' if options['close'] is not None else 'is checked again'}")
