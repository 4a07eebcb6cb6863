"""A reference made to fit a VCF: the REF column of its first sample of every position, N elsewhere.

The files of ../shared/cases come without their genomes. Against a real but unrelated reference most of their records
stop at “unknown contig”; against a fitted one every later rule is reached. Where two records disagree about a base, the
first one wins and the other is a true mismatch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orders.intake import Contig
from orders.intake.contig_names import name_table

MARGIN = 1_000


class FittedReference:
    name = "fitted"
    digest = "fitted"

    def __init__(self, path: Path) -> None:
        self._bases: dict[str, dict[int, str]] = {}
        lengths = self._read(path.read_bytes().decode("latin-1"))
        self.contigs: Mapping[str, Contig] = {name: Contig(name, length) for name, length in lengths.items()}
        self._names = name_table(self.contigs.values())

    def fetch(self, contig: str, start0: int, end0: int) -> str:
        known = self._bases.get(contig, {})
        return "".join(known.get(index, "N") for index in range(max(start0, 0), min(end0, self.contigs[contig].length)))

    def resolve(self, name: str) -> str | None:
        return self._names.get(name)

    def _read(self, text: str) -> dict[str, int]:
        """Declared lengths, and lengths that suffice for contigs without one."""
        lengths: dict[str, int] = {}
        for line in text.splitlines():
            columns = line.split("\t")
            if line.startswith("##contig=<ID=") and "length=" in line:
                name = line.split("ID=")[1].split(",")[0].rstrip(">")
                lengths[name] = int(line.split("length=")[1].split(",")[0].rstrip(">"))
            elif not line.startswith("#") and len(columns) > 4 and columns[1].isdigit():
                self._place(columns[0], int(columns[1]) - 1, columns[3].upper())
        for name, known in self._bases.items():
            lengths.setdefault(name, max(known, default=0) + MARGIN)
        return lengths

    def _place(self, contig: str, start0: int, ref: str) -> None:
        known = self._bases.setdefault(contig, {})
        for index, base in enumerate(ref, start=start0):
            if base in "ACGT":
                known.setdefault(index, base)
