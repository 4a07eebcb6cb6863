"""Bring the common variants of a region into the registry."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.errors import Refused
from registry import frequencies
from registry.models import Reference


class Command(BaseCommand):
    help = "Keep the common variants of a region by the digest of a VCF with AF or MAF; `score_common` then scores them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("vcf", type=Path, help="VCF with AF or MAF in INFO, plain or gzip")
        parser.add_argument("--reference", required=True, help="name of a registered reference")
        parser.add_argument("--region", default="", help="CONTIG or CONTIG:START-END; default: the only contig there is")
        parser.add_argument("--minimum", type=float, default=0.01, help="frequency of a common variant, at least (0.01)")
        parser.add_argument("--name", default="", help="default: the file's name")
        parser.add_argument("--source", required=True, help="where the frequencies come from: data set and release")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a model steward")

    def handle(self, *args: Any, **options: Any) -> None:
        reference = Reference.objects.filter(name=options["reference"]).first()
        if reference is None:
            known = ", ".join(Reference.objects.order_by("name").values_list("name", flat=True)) or "none is registered"
            raise CommandError(f"there is no reference {options['reference']} ({known})", returncode=2)
        try:
            made, new = frequencies.admit(
                options["vcf"], name=options["name"] or options["vcf"].name, reference=reference, minimum=options["minimum"],
                said=options["source"], region=options["region"], actor=named.person(options["by"]),
            )  # fmt: skip
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        again = "" if new else ", known already"
        self.stdout.write(f"frequencies {made.name}: {made.facts['kept']:,} variants of {made.region}{again}")
        self.stdout.write(f"digest      {made.digest}")
        for reason, number in sorted(made.facts["left"].items()):
            self.stdout.write(f"not kept    {number:,} {reason}")
