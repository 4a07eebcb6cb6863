"""Make what was registered something that can be ordered."""

from typing import Any, TypeVar

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import models

from accounts import named
from accounts.models import Organisation
from foundation.errors import Refused
from registry import services, terms
from registry.models import Annotation, CalibrationTable, Deployment, IntendedUse, Reference

KINDS = ("centred", "grid-centred", "right-end")
STRANDS = ("forward", "reverse", "average")
Row = TypeVar("Row", bound=models.Model)


class Command(BaseCommand):
    help = "Offer a test: deployment, protocol, reference, annotation, inputs, intended use. Other details are a new version of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("code", help="short and stable, such as isolate-panel")
        parser.add_argument("--name", required=True, help="as the order form and reports print it")
        parser.add_argument("--laboratory", required=True, help="the short code of the organisation")
        parser.add_argument("--deployment", required=True)
        parser.add_argument("--reference", required=True)
        parser.add_argument("--annotation", default="", help="without one no consequence is named")
        parser.add_argument("--calibration", default="", metavar="SHA256", help="of a calibration table, or how it begins")
        parser.add_argument("--accepts", default="vcf", help=f"with commas, of {', '.join(terms.INPUTS)}")
        parser.add_argument("--protocol", choices=KINDS, default="centred")
        parser.add_argument("--window", type=int, default=512, help="bases")
        parser.add_argument("--grid", type=int, help="bases; of grid-centred alone")
        parser.add_argument("--strand", choices=STRANDS, default="forward")
        parser.add_argument("--intended-use", choices=IntendedUse.values, default=IntendedUse.RESEARCH.value)
        due = "minutes to scored and to released, such as stat=1/15,asap=30/120; what is not named stays as usual"
        parser.add_argument("--sla", default="", metavar="PRIORITY=MINUTES/MINUTES", help=due)
        people = "how many people sign a report, such as routine=2; one where nothing is said"
        parser.add_argument("--signatures", default="", metavar="PRIORITY=NUMBER", help=people)
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a director of the laboratory")
        parser.add_argument("--limitations", default="", help="printed on every report")

    def handle(self, *args: Any, **options: Any) -> None:
        accepts = [word for word in options["accepts"].split(",") if word]
        if not accepts or set(accepts) - set(terms.INPUTS):
            raise CommandError(f"--accepts takes {', '.join(terms.INPUTS)}", returncode=2)
        protocol = {"kind": options["protocol"], "window": options["window"], "strand": options["strand"]}
        if options["grid"] is not None:
            protocol["grid"] = options["grid"]
        try:
            made = services.offer_test(
                laboratory=_one(Organisation.objects.filter(is_laboratory=True), "laboratory", code=options["laboratory"]),
                code=options["code"],
                name=options["name"],
                accepts=accepts,
                reference=_one(Reference.objects.all(), "reference", name=options["reference"]),
                annotation=_one(Annotation.objects.all(), "annotation", name=options["annotation"])
                if options["annotation"]
                else None,
                calibration=_table(options["calibration"]),
                deployment=_one(Deployment.objects.all(), "deployment", name=options["deployment"]),
                protocol=protocol,
                sla_minutes=terms.read_sla(options["sla"]),
                signatures=terms.read_signatures(options["signatures"]),
                intended_use=options["intended_use"],
                limitations=options["limitations"],
                actor=named.person(options["by"]),
            )
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"{made} is offered by {made.definition.laboratory.name}, for {made.get_intended_use_display().lower()}")


def _table(begins: str) -> CalibrationTable | None:
    """The calibration table whose SHA-256 begins so; none where nothing is asked."""
    if not begins:
        return None
    found = list(CalibrationTable.objects.filter(sha256__startswith=begins)[:2])
    if len(found) != 1:
        raise CommandError(
            f"{'several calibration tables begin' if found else 'no calibration table begins'} with {begins}", returncode=2
        )
    return found[0]


def _one(rows: "models.QuerySet[Row]", what: str, **wanted: str) -> Row:
    """The row of a name, or a line that lists the names there are."""
    found = rows.filter(**wanted).first()
    if found is None:
        ((column, value),) = wanted.items()
        known = ", ".join(map(str, rows.order_by(column).values_list(column, flat=True))) or "none is registered"
        raise CommandError(f"there is no {what} {value} ({known})", returncode=2)
    return found
