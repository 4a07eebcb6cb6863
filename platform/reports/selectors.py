"""What the pages show of results. Every function asks the release door first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import F, FloatField, Func, Q, QuerySet
from django.db.models.functions import Coalesce

from engine_queue.models import Result, Run
from foundation.actor import Actor
from foundation.errors import Refused
from orders.machines import IN_ERROR
from orders.models import Order
from reports import backgrounds, genes, release, spreadsheet, svg
from reports.content import ResultLine
from reports.gathering import curve_of, result_lines
from reports.locus import TELEPHONE
from reports.models import ReportKind, ReportVersion

PAGE = 50
DRAWN = 50_000  # results in a picture
EXPORTED = 500_000  # results in one CSV, made while somebody waits
KEPT = 3600  # seconds that what is said of all results of a run is kept in the process that found it

_SCORE = Coalesce("delta", "ll_alt")  # a sequence has no Δ
SORTS = {
    "delta": ("Δ, lowest first", (F("score").asc(nulls_last=True), "item__ordinal")),
    "-delta": ("Δ, highest first", (F("score").desc(nulls_last=True), "item__ordinal")),
    "magnitude": ("|Δ|, largest first", (F("magnitude").desc(nulls_last=True), "item__ordinal")),
    "position": ("Position", ("item__contig", "item__position", "item__ordinal")),
    "file": ("Order of the file", ("item__ordinal",)),
}
OUTCOMES = {"": "All", "scored": "Scored", "failed": "Could not be scored"}


@dataclass(frozen=True)
class ResultFilter:
    """Which rows; empty fields let everything through."""

    outcome: str = ""
    contig: str = ""
    start: int | None = None
    end: int | None = None
    flag: str = ""

    def condition(self) -> Q:
        """The same for the database."""
        condition = {"scored": Q(failure=""), "failed": ~Q(failure="")}.get(self.outcome, Q())
        if self.contig:
            condition &= Q(item__contig=self.contig)
        if self.start is not None:
            condition &= Q(item__position__gte=self.start)
        if self.end is not None:
            condition &= Q(item__position__lte=self.end)
        if self.flag:
            condition &= Q(flags__contains=[self.flag]) | Q(item__intakerecord__flags__contains=[self.flag])
        return condition


@dataclass(frozen=True)
class Asked:
    """What the address of the page asks for."""

    sort: str = "delta"
    filter: ResultFilter = ResultFilter()  # frozen, so it can be shared
    page: int = 1


@dataclass(frozen=True)
class ResultsPanel:
    """One page of results with everything around it."""

    rows: tuple[ResultLine, ...]
    of_variants: bool
    asked: Asked
    total: int  # results committed so far
    expected: int
    failed: int
    matching: int
    pages: int
    picture: str  # SVG, or empty
    small_picture: str  # the same for a telephone
    contigs: tuple[str, ...]
    flags: tuple[str, ...]
    complete: bool
    released: bool
    calibration: str  # digest of the table that probabilities are read from; blank: there are none
    common: int  # common variants of the region that were scored; 0: there are none to compare with
    sorts: tuple[tuple[str, str], ...] = tuple((key, words) for key, (words, _) in SORTS.items())
    outcomes: tuple[tuple[str, str], ...] = tuple(OUTCOMES.items())

    @property
    def next_query(self) -> str:
        """Query string of the next page; empty on the last."""
        return self._query(self.asked.page + 1) if self.asked.page < self.pages else ""

    @property
    def previous_query(self) -> str:
        """Query string of the page before; empty on the first."""
        return self._query(self.asked.page - 1) if self.asked.page > 1 else ""

    def _query(self, page: int) -> str:
        asked_for = query(replace(self.asked, page=page))
        return asked_for if self.complete else f"{asked_for}&partial=yes"


@dataclass(frozen=True)
class _Overall:
    """What is said of all results together, whatever part of them a page shows."""

    failed: int
    picture: str
    small_picture: str
    contigs: tuple[str, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Export:
    """The CSV of an order."""

    accession: str
    complete: bool
    protocol: Mapping[str, Any]
    lines: list[ResultLine]
    calibration: str = ""  # digest of the table that probabilities are read from; blank: there are none
    in_error: bool = False  # the order was for the wrong patient
    kind: str = ReportKind.UNSIGNED  # of the report that stands on these results

    @property
    def filename(self) -> str:
        """Says by itself that scores are missing, or not valid."""
        said = "-entered-in-error" if self.in_error else "" if self.complete else "-incomplete"
        return f"{self.accession}-results{said}.csv"

    def text(self) -> str:
        """The file."""
        return spreadsheet.write(
            self.lines, accession=self.accession, complete=self.complete, protocol=self.protocol, calibration=self.calibration,
            in_error=self.in_error, kind=self.kind,
        )  # fmt: skip


@dataclass(frozen=True)
class ResultPart:
    """Some results of an order, for programs that read all of them piece by piece."""

    lines: list[ResultLine]
    more: bool  # there are others behind them
    complete: bool  # all are scored
    report_state: str
    released: bool
    items_done: int
    items_total: int
    protocol: Mapping[str, Any]
    calibration: str  # digest of the table that probabilities are read from; blank: there are none


class TooManyResults(Refused):
    """The order has more results than one file can be made of while you wait. The order page shows them page by page."""


def asked(parameters: Mapping[str, str]) -> Asked:
    """Read sort, filter and page from a query string; whatever makes no sense asks for nothing."""
    sort, outcome = parameters.get("sort", ""), parameters.get("outcome", "")
    chosen = ResultFilter(
        outcome=outcome if outcome in OUTCOMES else "",
        contig=parameters.get("contig", "").replace("\0", ""),
        start=_whole(parameters.get("start", "")),
        end=_whole(parameters.get("end", "")),
        flag=parameters.get("flag", "").replace("\0", ""),
    )
    return Asked(sort if sort in SORTS else "delta", chosen, max(1, _whole(parameters.get("page", "")) or 1))


def query(wanted: Asked) -> str:
    """The query string that `asked` reads back."""
    chosen = {**wanted.filter.__dict__, "sort": wanted.sort, "page": wanted.page}
    return urlencode({key: value for key, value in chosen.items() if value not in ("", None)})


def results_panel(
    actor: Actor, order: Order, *, sort: str = "delta", filter: ResultFilter | None = None, page: int = 1
) -> ResultsPanel | None:
    """The results this actor may see of an order, or None: not released to him, or no run yet."""
    run = release.run_to_show(actor, order)
    if run is None:
        return None
    chosen = filter or ResultFilter()
    matching = _results(run).filter(chosen.condition())
    count = matching.count()
    pages = max(1, -(-count // PAGE))
    page = min(max(1, page), pages)
    ordered = matching.order_by(*SORTS.get(sort, SORTS["delta"])[1])
    overall, curve, background = _overall(run), curve_of(run), backgrounds.of(run)
    return ResultsPanel(
        rows=tuple(result_lines(ordered[(page - 1) * PAGE : page * PAGE], curve, background)),
        of_variants=run.item_set.kind == "variant",
        asked=Asked(sort if sort in SORTS else "delta", chosen, page),
        total=run.items_done,
        expected=run.items_total,
        failed=overall.failed,
        matching=count,
        pages=pages,
        picture=overall.picture,
        small_picture=overall.small_picture,
        contigs=overall.contigs,
        flags=overall.flags,
        complete=run.state == "scored",
        released=release.released_version(order) is not None,
        calibration=curve.sha256 if curve else "",
        common=len(background.deltas) if background else 0,
    )


def results_export(actor: Actor, order: Order) -> Export | None:
    """Every result this actor may see, in the order of the file; None where he may see none. Raises `TooManyResults`."""
    run = release.run_to_show(actor, order)
    if run is None:
        return None
    if run.items_done > EXPORTED:
        raise TooManyResults(code="report.too-many-results")
    curve = curve_of(run)
    lines = result_lines(_results(run).order_by("item__ordinal"), curve)
    protocol = run.protocol if run.item_set.kind == "variant" else spreadsheet.WHOLE
    digest = curve.sha256 if curve else ""
    in_error, kind = order.state == IN_ERROR, _kind(release.released_version(order), run)
    return Export(order.accession, run.state == "scored", protocol, lines, digest, in_error=in_error, kind=kind)


def results_after(actor: Actor, order: Order, *, after: int, limit: int) -> ResultPart | None:
    """At most `limit` results behind an ordinal, in the order of the file; None where this actor may see none, or without a run."""
    run = release.run_to_show(actor, order)
    if run is None:
        return None
    curve = curve_of(run)
    lines = result_lines(_results(run).filter(item__ordinal__gt=after).order_by("item__ordinal")[: limit + 1], curve)
    complete, released = run.state == "scored", release.released_version(order)
    return ResultPart(
        lines=lines[:limit],
        more=len(lines) > limit,
        complete=complete,
        report_state=spreadsheet.state(complete=complete, in_error=order.state == IN_ERROR, kind=_kind(released, run)),
        released=released is not None,
        items_done=run.items_done,
        items_total=run.items_total,
        protocol=run.protocol if run.item_set.kind == "variant" else spreadsheet.WHOLE,
        calibration=curve.sha256 if curve else "",
    )


def _kind(released: ReportVersion | None, run: Run) -> str:
    """What the results of a run stand under."""
    return released.kind if released is not None and released.run_id == run.pk else ReportKind.UNSIGNED


def _results(run: Run) -> QuerySet[Result]:
    magnitude = Func(F("delta"), function="ABS", output_field=FloatField())
    return Result.objects.filter(run=run).annotate(score=_SCORE, magnitude=magnitude)


def _overall(run: Run) -> _Overall:
    """Results are insert-only, so a run and its number of results name what this says for ever."""
    key = f"reports.overall.{run.pk}.{run.items_done}"
    found: _Overall | None = cache.get(key)
    if found is None:
        found = _Overall(run.results.exclude(failure="").count(), *_pictures(run), _contigs(run), _flags(run))
        cache.set(key, found, KEPT)
    return found


def _contigs(run: Run) -> tuple[str, ...]:
    named = run.results.exclude(item__contig="").order_by("item__contig")
    return tuple(named.values_list("item__contig", flat=True).distinct())


def _pictures(run: Run) -> tuple[str, str]:
    """For the page and for a telephone."""
    if run.items_done > DRAWN or run.item_set.kind != "variant":
        return "", ""
    lines = result_lines(run.results.order_by("item__ordinal"))
    failed = sum(1 for line in lines if line.failure)
    points, named = svg.points(lines), genes.overlapping(run.item_set.reference, lines)
    return svg.draw(points, named, failed=failed), svg.draw(points, named, failed=failed, sheet=TELEPHONE)


def _flags(run: Run) -> tuple[str, ...]:
    engine = run.results.exclude(flags=[]).values_list("flags", flat=True)
    intake = run.results.exclude(item__intakerecord__flags=[]).values_list("item__intakerecord__flags", flat=True)
    return tuple(sorted({flag for rows in (engine.distinct(), intake.distinct()) for flags in rows for flag in flags or ()}))


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
