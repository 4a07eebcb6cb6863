"""The turnaround report as a page and as CSV: which period, which orders, and the figures in words."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from accounts.models import Organisation
from accounts.roles import Verb
from dashboard import turnaround_picture
from dashboard.wording import PRIORITY_WORD, span
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from orders import turnaround
from orders.turnaround import Line, Quantile, Report
from registry.models import TestDefinition
from registry.priority import Priority
from reports.spreadsheet import disarmed

USUAL_DAYS, MOST_DAYS = 30, 400


@dataclass(frozen=True)
class Asked:
    """What the page was asked for."""

    laboratory: Organisation
    first: date
    last: date
    priority: str
    test: UUID | None
    errors: list[str]
    late: str = ""  # entered late: all, only, without

    @property
    def period(self) -> tuple[datetime, datetime]:
        """The days of the site, as moments: from the first midnight to the one after the last day."""
        zone = self.laboratory.zone
        return _midnight(self.first, zone), _midnight(self.last + timedelta(days=1), zone)


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    key: str
    name: str
    orders: int
    through: int
    figures: list[str]  # median and P90 by the wall, then net
    share: str


def asked(actor: Actor, parameters: Mapping[str, str]) -> Asked:
    """Read the form. Raises `NotFound` to who may see the figures of no laboratory, or not of this one."""
    mine = list(Organisation.objects.filter(pk__in=actor.organisations(Verb.VIEW_TURNAROUND), is_laboratory=True).order_by("name"))
    code = parameters.get("laboratory", "")
    laboratory = next((one for one in mine if one.code == code), mine[0] if mine and not code else None)
    if laboratory is None:
        raise NotFound
    today = clock.now().astimezone(laboratory.zone).date()
    errors: list[str] = []
    last = _day(parameters.get("to", ""), today, errors)
    first = _day(parameters.get("from", ""), last - timedelta(days=USUAL_DAYS - 1), errors)
    if first > last:
        errors.append("The period ends before it begins.")
        first = last
    if (last - first).days >= MOST_DAYS:
        errors.append(f"At most {MOST_DAYS} days are shown at once: the last ones of the period.")
        first = last - timedelta(days=MOST_DAYS - 1)
    priority = parameters.get("priority", "")
    return Asked(
        laboratory, first, last, priority if priority in Priority.values else "", _uuid(parameters.get("test", "")), errors,
        late if (late := parameters.get("late", "")) in turnaround.LATE_ENTRIES else "",
    )  # fmt: skip


def figures(actor: Actor, wanted: Asked) -> Report:
    """The figures of what was asked for."""
    since, until = wanted.period
    return turnaround.report(
        actor=actor, laboratory=wanted.laboratory.pk, since=since, until=until, priority=wanted.priority, test=wanted.test,
        late=wanted.late,
    )  # fmt: skip


def page(actor: Actor, parameters: Mapping[str, str]) -> dict[str, object]:
    """Everything the page shows."""
    wanted = asked(actor, parameters)
    found = figures(actor, wanted)
    query = f"from={wanted.first}&to={wanted.last}&laboratory={wanted.laboratory.code}"
    return {
        "asked": wanted,
        "zone_of_site": wanted.laboratory.time_zone,
        "report": found,
        "segments": [_row(line, line.name) for line in found.segments],
        "priorities": [_row(line, PRIORITY_WORD[line.key]) for line in found.priorities if line.orders],
        "tests": [_row(line, line.name) for line in found.tests],
        "picture": turnaround_picture.draw(found.segments) if found.counts.placed else "",
        "narrow_picture": turnaround_picture.draw(found.segments, turnaround_picture.NARROW) if found.counts.placed else "",
        "query": query
        + (f"&priority={wanted.priority}" if wanted.priority else "")
        + (f"&test={wanted.test}" if wanted.test else "")
        + (f"&late={wanted.late}" if wanted.late else ""),
        "priority_choices": Priority.choices,
        "test_choices": TestDefinition.objects.filter(laboratory=wanted.laboratory).order_by("name"),
        "may_list": actor.may(Verb.VIEW_ORDER, wanted.laboratory.pk),
        "whole": found.segments[list(turnaround.SEGMENTS).index(turnaround.WHOLE)],
    }


def written(actor: Actor, parameters: Mapping[str, str]) -> str:
    """The same figures as CSV, in seconds."""
    found = figures(actor, asked(actor, parameters))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    measures = [f"{kind}_{name}" for kind in ("wall", "net") for name in ("median", "p90")]
    head = [column for measure in measures for column in (f"{measure}_seconds", f"{measure}_at_least")]
    writer.writerow(["by", "name", "orders", "through", *head, "in_time", "late"])
    for by, lines in (("segment", found.segments), ("priority", found.priorities), ("test", found.tests)):
        writer.writerows([by, disarmed(line.name), line.orders, line.through, *_cells(line), *_decided(line)] for line in lines)
    return out.getvalue()


def _cells(line: Line) -> Iterator[object]:
    for one in (*line.wall, *line.net):
        yield "" if one.seconds is None else f"{one.seconds:.3f}"
        yield "yes" if one.at_least else "no"


def _decided(line: Line) -> tuple[object, object]:
    return (line.met, line.missed) if line.share is not None else ("", "")


def _row(line: Line, name: str) -> Row:
    share = "" if line.share is None else f"{100 * line.share:.1f} % of {line.met + line.missed:,}"
    return Row(line.key, name, line.orders, line.through, [said(one) for one in (*line.wall, *line.net)], share)


def said(one: Quantile) -> str:
    """A percentile in words."""
    if one.seconds is None:
        return "–"
    return f"at least {span(one.seconds)}" if one.at_least else span(one.seconds)


def _day(text: str, otherwise: date, errors: list[str]) -> date:
    if not text:
        return otherwise
    try:
        found = date.fromisoformat(text[:10])
    except ValueError:
        found = date.min
    if not date(2000, 1, 1) <= found < date(2100, 1, 1):
        errors.append(f"“{text[:20]}” is no day of this century.")
        return otherwise
    return found


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
