"""Bring reference sequences into the registry."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from config import contig_aliases
from foundation.errors import Refused
from registry import markov, reference_admission


class Command(BaseCommand):
    help = "Check a FASTA file (plain, gzip or bgzip), copy it with an index, digest every contig, fit the Markov baseline."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("fasta", type=Path)
        parser.add_argument("--name", required=True, help="as people know it: GRCh38, rCRS")
        parser.add_argument("--description", default="", help="source and accession, as printed on reports")
        parser.add_argument("--alias", action="append", default=[], metavar="CONTIG=NAME", help="another name; may be repeated")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a model steward")
        parser.add_argument("--markov-order", type=int, default=markov.ORDER, help=f"of the baseline, 0 to {markov.HIGHEST}")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["markov_order"] <= markov.HIGHEST:
            raise CommandError(f"--markov-order lies between 0 and {markov.HIGHEST}", returncode=2)
        given = _given(options["alias"])

        def names(contig: str, length: int) -> list[str]:
            return [*contig_aliases.aliases(contig, length), *given.pop(contig, [])]

        try:
            made, new = reference_admission.admit(
                options["fasta"], name=options["name"], description=options["description"], names=names,
                order=options["markov_order"], progress=self._read, actor=named.person(options["by"]),
            )  # fmt: skip
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        total = sum(contig["length"] for contig in made.contigs)
        contigs = "1 contig" if len(made.contigs) == 1 else f"{len(made.contigs):,} contigs"
        self.stdout.write(f"reference {made.name}: {contigs}, {total:,} bases{'' if new else ', known already'}")
        self.stdout.write(f"digest    {made.digest}")
        self.stdout.write(f"baseline  {made.markov}, SHA-256 {made.markov.sha256}")
        for contig in given:
            self.stdout.write(f"note      no contig is named {contig}: its alias was not used")

    def _read(self, name: str, length: int) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"read {name}, {length:,} bases")


def _given(pairs: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        contig, equals, alias = pair.partition("=")
        if not (contig and equals and alias):
            raise CommandError(f"--alias {pair}: give CONTIG=NAME", returncode=2)
        found.setdefault(contig, []).append(alias)
    return found
