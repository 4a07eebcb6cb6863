"""What became of the lines of a VCF, counted, and told at the end: what was done, and what needs a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.command_line.info_fields import Verdict
from engine.command_line.progress_line import duration, left
from engine.command_line.vcf import Broken
from engine.errors import ReferenceMismatch

_TOLD = 5  # broken lines and names that are told one by one
_FOREIGN = 0.05  # share of records whose REF differs, from which on the reference is in doubt


@dataclass(slots=True)
class Tally:
    """Grows with nothing but a few names, however many records come."""

    records: int = 0
    scored: int = 0  # ALTs
    refused: Counter[str] = field(default_factory=Counter)  # ALTs, and records without one, by code
    broken: int = 0
    first_broken: list[Broken] = field(default_factory=list)
    compared: int = 0  # records with an ALT whose REF was looked up
    differing: int = 0  # of which the reference holds something else
    missing: int = 0  # records on contigs that the reference does not hold
    missing_names: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    lengths: list[tuple[str, int, int]] = field(default_factory=list)  # contig, its length in the header, in the reference

    def record(self, verdicts: Sequence[Verdict]) -> None:
        """Count a record by what was found for its ALTs."""
        codes = [str(verdict["CODE"]) for verdict in verdicts if "CODE" in verdict]
        self.records += 1
        self.scored += len(verdicts) - len(codes)
        self.refused.update(codes)
        differs = ReferenceMismatch.code in codes
        self.differing += differs
        self.compared += differs or len(codes) < len(verdicts)

    def break_off(self, line: Broken) -> None:
        """Count a line that is no record."""
        self.broken += 1
        if len(self.first_broken) < _TOLD:
            self.first_broken.append(line)

    def miss(self, contig: str) -> None:
        """Count a record on a contig that the reference does not hold."""
        self.missing += 1
        if contig not in self.missing_names and len(self.missing_names) <= _TOLD:
            self.missing_names.append(contig)

    def progress(self, ran: float, share: float | None) -> str:
        """How far it is; `share` of the file, where its size is known."""
        done = self.scored + self.refused.total()
        part = "" if share is None else f", {share:.0%} of the file"
        rate = f", {done / ran:,.0f} alternates/s" if ran > 0 else ""
        return f"{_counted(self.records, 'record')}{part}{rate}, after {duration(ran)}{left(ran, min(share or 0.0, 1.0))}"

    def summary(self, ran: float) -> str:
        """One sentence of what was done."""
        done = self.scored + self.refused.total()
        why = ", ".join(f"{count:,} {code}" for code, count in sorted(self.refused.items()))
        rate = f" ({done / ran:,.0f}/s)" if ran > 0 else ""
        refused = f", {self.refused.total():,} refused: {why}" if self.refused else ""
        return f"{_counted(self.records, 'record')}, {_counted(self.scored, 'alternate')} scored{refused}; {duration(ran)}{rate}"

    def notes(self) -> list[str]:
        """What a reader should know and nothing is wrong with."""
        said = [f"contig {name} of the VCF was taken for {found} of the reference" for name, found in self.aliases.items()]
        if self.missing:
            names = ", ".join(self.missing_names[:_TOLD]) + (", …" if len(self.missing_names) > _TOLD else "")
            lie = "1 record lies" if self.missing == 1 else f"{self.missing:,} records lie"
            said.append(f"{lie} on contigs that the reference does not hold: {names}")
        return said

    def emptiness(self) -> list[str]:
        """What is said of a file without any record, which is sound and yet seldom what was meant."""
        return [] if self.records or self.broken else ["the VCF holds no records: nothing was scored"]

    def complaints(self) -> list[str]:
        """What needs a look; none: all is well."""
        said = [f"line {line.line} was left out: {line.reason}" for line in self.first_broken]
        if self.broken > len(self.first_broken):
            said.append(f"{self.broken:,} lines were left out in all")
        if self.lengths:
            name, given, held = self.lengths[0]
            more = f"; {len(self.lengths):,} contigs differ" if len(self.lengths) > 1 else ""
            said.append(
                f"WRONG REFERENCE BUILD? Contig {name} has {given:,} bases in the header of the VCF and "
                f"{held:,} in the reference{more}"
            )
        if self.differing > _FOREIGN * self.compared:
            said.append(
                f"WRONG REFERENCE BUILD? In {self.differing:,} of {_counted(self.compared, 'record')} "
                f"({self.differing / self.compared:.0%}) REF is not what the reference holds"
            )
        if self.records and not self.scored:
            none = "the one record could not" if self.records == 1 else f"none of the {self.records:,} records could"
            said.append(f"{none} be scored; {next(iter(self.refused))} is the first reason")
        return said


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
