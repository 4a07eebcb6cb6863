"""Bring an annotation into the registry."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.errors import Refused
from registry import annotation_admission
from registry.annotation_admission import Codes
from registry.annotations.consequences import TOOL
from registry.annotations.transcripts import STANDARD
from registry.models import Annotation, Reference


class Command(BaseCommand):
    help = "Read GFF3 or GenBank, prove by translation that it belongs to a registered reference, and keep it for consequences."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("annotation", type=Path, help="GFF3 or GenBank, plain or gzip")
        parser.add_argument("--reference", required=True, help="name of a registered reference")
        parser.add_argument("--name", default="", help="default: the file's name")
        parser.add_argument("--genetic-code", type=int, default=STANDARD, help="NCBI table where the file names none; bacteria: 11")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a model steward")
        parser.add_argument("--code", action="append", default=[], metavar="CONTIG=N", help="of one contig: MT=2; may be repeated")

    def handle(self, *args: Any, **options: Any) -> None:
        reference = Reference.objects.filter(name=options["reference"]).first()
        if reference is None:
            known = ", ".join(Reference.objects.order_by("name").values_list("name", flat=True)) or "none is registered"
            raise CommandError(f"there is no reference {options['reference']} ({known})", returncode=2)
        codes = Codes(options["genetic_code"], dict(map(_pair, options["code"])))
        try:
            name = options["name"] or options["annotation"].name
            actor = named.person(options["by"])
            made, new = annotation_admission.admit(options["annotation"], name=name, reference=reference, codes=codes, actor=actor)
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        self._tell(made, new)

    def _tell(self, made: Annotation, new: bool) -> None:
        facts = made.facts
        counted = f"{facts['genes']:,} genes, {facts['transcripts']:,} transcripts, {facts['coding']:,} of them coding"
        self.stdout.write(f"annotation {made.name} of {made.reference.name}: {counted}{'' if new else ', known already'}")
        self.stdout.write(f"digest     {made.digest}")
        self.stdout.write("codes      " + ", ".join(f"{contig} {code}" for contig, code in list(made.codes.items())[:8]))
        self.stdout.write(f"tool       {TOOL}")
        for reason, number in sorted(facts["skipped"].items()):
            self.stdout.write(f"not read   {number:,} transcripts {reason}")


def _pair(text: str) -> tuple[str, int]:
    contig, _, code = text.rpartition("=")
    if not contig or not code.isdecimal():
        raise CommandError(f"--code {text}: give CONTIG=NUMBER", returncode=2)
    return contig, int(code)
