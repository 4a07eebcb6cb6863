"""The tables of a report. A long one shows the largest |Δ| and names the CSV, by digest, that holds every line."""

import math
from dataclasses import dataclass

from registry.annotations.consequences import NO_ANNOTATION
from reports import common_picture, spreadsheet, statements, wording
from reports.content import Common, Content, ResultLine, digest
from reports.drawing import signed

PRINTED = 500  # result rows in a document
_VARIANT: tuple[str, ...] = ("Position", "REF > ALT", "Normalised", "Zygosity", "FILTER", "ll REF", "ll ALT", "Δ", "Δ Markov",
                             "Consequence", "Flags")  # fmt: skip
_ADDED = 8  # place among them of what a background and a calibration table say, where there is one
_SEQUENCE: tuple[str, ...] = ("Name", "Bases", "Counted", "Log-likelihood", "Per base", "Flags")
_OUTCOMES = {
    "accepted": "Accepted",
    "parked": "Parked: sound, but not scored in this version",
    "refused": "Refused",
    "not_carried": "Not carried by the sample",
    "no_call": "No call in the sample",
}


@dataclass(frozen=True)
class Table:
    """Cells as printed; `numeric` are the columns set to the right."""

    caption: str
    columns: tuple[str, ...]
    numeric: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def results(said: Content) -> Table:
    """Sorted by Δ, lowest first; failed ones at the end."""
    of_variants = said.input.kind == "vcf"
    kept = _largest(said.results)
    one = len({line.contig for line in said.results}) == 1  # then its name stands in the caption, not in every row
    calibrated = of_variants and bool(said.methods.calibration_sha256)
    n = said.common.n if said.common else 0
    rows = [_variant(line, one, n, calibrated) if of_variants else _sequence(line) for line in sorted(kept, key=_by_score)]
    columns, first = (_VARIANT, 5) if of_variants else (_SEQUENCE, 1)
    added = [statements.COMMON] * bool(n) + [statements.PROBABILITY] * calibrated
    columns = (*columns[:_ADDED], *added, *columns[_ADDED:]) if added else columns
    numeric = tuple(range(first, first + 4 + len(added)))
    return Table(_caption(said, len(kept)), columns, numeric, tuple(rows), tuple(_notes(said, kept)))


def common(said: Content) -> Table:
    """The picture of the common variants as a table: how many have a Δ in each step, and how many of this report."""
    of, found = said.common or Common(), common_picture.compared(said)
    edges = [of.low + of.step * place for place in range(len(of.counts) + 1)]
    steps = [(low, high, n) for low, high, n in zip(edges, edges[1:], of.counts, strict=False)]
    beyond = [(-math.inf, edges[0], 0)] * any(one < edges[0] for one in found)
    above = [(edges[-1], math.inf, 0)] * any(one >= edges[-1] for one in found)
    rows = [
        (_edge(low, of.step), _edge(high, of.step), wording.grouped(n), wording.grouped(sum(low <= one < high for one in found)))
        for low, high, n in (*beyond, *steps, *above)
    ]
    return Table("Common variants by Δ", ("Δ from", "to below", "Common variants", "Of this report"), (0, 1, 2, 3), tuple(rows))


def _edge(value: float, step: float) -> str:
    return signed(value, step) if math.isfinite(value) else "–"


def verdicts(said: Content) -> Table:
    """What became of every record × ALT."""
    counts = [(words, wording.grouped(said.input.counts.get(key, 0))) for key, words in _OUTCOMES.items()]
    codes = [
        (f"    {_OUTCOMES.get(c.outcome, c.outcome).partition(':')[0]} – {wording.words(c.code)}", wording.grouped(c.count))
        for c in said.input.by_code
        if c.code
    ]
    return Table("Input verdict (records × ALT)", ("Verdict", "Number"), (1,), (*counts, *codes))


def excluded(said: Content) -> Table:
    """The parked and refused records, with reasons; the first ones."""
    rows = [
        (wording.grouped(e.line), _place(e.contig, e.position), e.outcome, e.reason or wording.words(e.code))
        for e in said.input.excluded
    ]
    rest = said.input.excluded_not_listed
    notes = (f"{wording.grouped(rest)} more parked or refused records are not listed.",) if rest else ()
    return Table("Not scored, with reasons", ("Line", "Position", "Verdict", "Reason"), (0,), tuple(rows), notes)


def changes(said: Content) -> Table:
    """What is said otherwise than in the version that this one takes the place of, field by field."""
    zone = said.laboratory.time_zone
    rows = tuple((one.field, *(wording.value(side, zone) for side in (one.before, one.now))) for one in said.changes)
    nothing = ("Nothing of the facts and results has changed.",) if said.report.reason and not rows else ()
    return Table(f"Changed since version {said.report.supersedes}", ("What", "Before", "Now"), (), rows, nothing)


def _largest(lines: list[ResultLine]) -> list[ResultLine]:
    if len(lines) <= PRINTED:
        return lines
    return sorted(lines, key=lambda line: (line.delta is None, -abs(line.delta or 0.0), line.ordinal))[:PRINTED]


def _by_score(line: ResultLine) -> tuple[bool, float, int]:
    value = line.delta if line.delta is not None else line.ll_alt
    return value is None, value or 0.0, line.ordinal


def _caption(said: Content, kept: int) -> str:
    total, contigs = len(said.results), {line.contig for line in said.results if line.contig}
    counted = wording.grouped(total) if kept == total else f"the {kept} with the largest |Δ| of {wording.grouped(total)}"
    return f"Results: {counted}" + (f", on {contigs.pop()}" if len(contigs) == 1 else "")


def _notes(said: Content, kept: list[ResultLine]) -> list[str]:
    notes = [f"Sorted by Δ, lowest first. Rounded to {wording.DECIMALS} decimals for display only."]
    if len(kept) < len(said.results):
        notes.append(f"{wording.grouped(len(said.results) - len(kept))} results are not printed here.")
    calibration = said.methods.calibration_sha256
    notes += [f"{statements.PROBABILITY}: {statements.calibration(said)}."] if calibration else []
    notes.append(f"Every result, unrounded: CSV with SHA-256 {digest(spreadsheet.of(said))}.")
    codes = sorted({code for line in kept for code in (*line.flags, line.failure) if code})
    return [*notes, *(f"{wording.short(code)}: {wording.words(code)}" for code in codes if wording.explained(code))]


def _variant(line: ResultLine, one: bool, n: int, calibrated: bool) -> tuple[str, ...]:
    normalised = (line.norm_position, line.norm_ref, line.norm_alt)
    same = not line.norm_position or normalised == (line.position, line.ref, line.alt)
    form = "as submitted" if same else f"{wording.grouped(line.norm_position)} {_change(line.norm_ref, line.norm_alt)}"
    until = f"–{wording.grouped(line.end_position)}" if line.end_position else ""
    return (
        (wording.grouped(line.position) if one else _place(line.contig, line.position)) + until,
        _change(line.ref, line.alt),
        form,
        _zygosity(line),
        line.filter or "–",
        wording.signed(line.ll_ref),
        wording.signed(line.ll_alt),
        wording.signed(line.delta),
        *((wording.rank(line.common_lower, n),) if n else ()),
        *((wording.signed(line.probability),) if calibrated else ()),
        wording.signed(line.markov_delta),
        line.consequence or NO_ANNOTATION,
        _flags(line),
    )


def _sequence(line: ResultLine) -> tuple[str, ...]:
    counted = _counted(line)
    per_base = line.ll_alt / counted if line.ll_alt is not None and counted else None
    numbers = (wording.grouped(counted) if counted else "–", wording.signed(line.ll_alt), wording.signed(per_base, 4))
    return line.name, wording.grouped(line.length), *numbers, _flags(line)


def _counted(line: ResultLine) -> int | None:
    """Bases that the sum is over. Texts of before it was kept tell it only where every base was a token of its own."""
    return line.length if line.bases is None and line.tokens == line.length else line.bases


def _place(contig: str, position: int) -> str:
    return f"{contig}:{wording.grouped(position)}" if contig else "–"


def _change(ref: str, alt: str) -> str:
    return f"{wording.allele(ref)} > {wording.allele(alt)}"


def _zygosity(line: ResultLine) -> str:
    words = line.zygosity or "unknown"
    return f"{words} ({line.genotype}{', phased' if line.phased else ''})" if line.genotype else words


def _flags(line: ResultLine) -> str:
    failed = [f"NOT SCORED: {wording.short(line.failure)}"] if line.failure else []
    return ", ".join([*failed, *map(wording.short, line.flags)]) or "–"
