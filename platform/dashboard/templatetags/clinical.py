"""Tags for what every clinical page shows: times in the site's zone, time left, priority, stage."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard import short_names, stages, wording
from foundation import clock
from inspection.event_words import in_full
from orders.asked_filters import Asked
from orders.models import Order, Patient

register = template.Library()
NONE = "–"


@register.simple_tag(takes_context=True)
def moment(context: template.Context, value: datetime | None, style: str = "") -> SafeString | str:
    """A time in the site's zone; hovering shows it in full. Style: "" | "seconds" | "full"."""
    if value is None:
        return NONE
    zone = context["zone"]
    full = in_full(value, zone)
    text = full if style == "full" else wording.day_and_time(value, now=clock.now(), zone=zone, seconds=style == "seconds")
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), full, text)


@register.simple_tag(takes_context=True)
def moments(context: template.Context, low: datetime, high: datetime, style: str = "", joined: str = " to ") -> SafeString | str:
    """A range of times; one time where both ends are said alike."""
    ends = [wording.day_and_time(one, now=clock.now(), zone=context["zone"], seconds=style == "seconds") for one in (low, high)]
    first = moment(context, low, style)
    return first if ends[0] == ends[1] else format_html("{}{}{}", first, joined, moment(context, high, style))


@register.simple_tag(takes_context=True)
def zone_words(context: template.Context) -> str:
    """The zone of every time on the page."""
    return wording.zone_name(clock.now(), context["zone"])


@register.simple_tag(takes_context=True)
def zone_short(context: template.Context) -> str:
    """The zone as a table heading says it: "CET"."""
    return clock.now().astimezone(context["zone"]).tzname() or context["zone"].key


@register.simple_tag(takes_context=True)
def due_moment(context: template.Context, value: datetime) -> SafeString | str:
    """A due time: to the second when it is less than an hour away."""
    return moment(context, value, "seconds" if abs(value - clock.now()) < timedelta(hours=1) else "")


@register.simple_tag
def due_words(order: Order, what: str = "") -> str:
    """What stands before a due time: "due", "results due", "report due", and "report was due" once it is past."""
    if order.scored_at is None:
        return f"{what} due".strip()
    return "report was due" if order.report_due is not None and order.report_due < clock.now() else "report due"


@register.simple_tag
def timer(order: Order) -> SafeString | str:
    """Time left in words; the browser keeps it going and speaks only at thresholds."""
    due = stages.due(order)
    if due is None:
        return NONE
    if order.clock_stopped_at is not None:
        seconds = (due - order.clock_stopped_at).total_seconds()
        return format_html('<span class="{}">{}<small>clock stopped by the hold</small></span>', *_styled(seconds))
    seconds = (due - clock.now()).total_seconds()
    return format_html(
        '<span role="timer" aria-live="off" aria-label="Time left for {}" class="{}" '
        'data-due="{}" data-from="{}" data-label="{}">{}{}</span>',
        order.accession, "late" if seconds < 0 else "", due.isoformat(), (order.accepted_at or order.placed_at).isoformat(),
        order.accession, "▲ " if seconds < 0 else "", wording.time_left(seconds),
    )  # fmt: skip


def _styled(seconds: float) -> tuple[str, str]:
    return ("late", f"▲ {wording.time_left(seconds)}") if seconds < 0 else ("", wording.time_left(seconds))


@register.simple_tag
def priority_tag(priority: str) -> SafeString:
    """Priority as icon, word and colour."""
    return format_html(
        '<span class="tag {}"><span aria-hidden="true">{}</span> {}</span>',
        priority,
        wording.PRIORITY_ICON[priority],
        wording.PRIORITY_WORD[priority],
    )


@register.simple_tag
def steps(stage: stages.Stage) -> SafeString:
    """The five steps as a bar, and in words for somebody who does not see it."""
    bar = _bar(tuple(step.status for step in stage.steps))
    style = " stopped" if stage.stopped else ""
    return format_html('<span class="steps{}" role="img" aria-label="{}">{}</span>', style, stage.spoken, bar)


@cache
def _bar(statuses: tuple[str, ...]) -> SafeString:
    return format_html_join("", '<i class="{}"></i>', ((status,) for status in statuses))


@register.simple_tag
def identifier(order: Order) -> str:
    """The patient's number, verbatim: the stated one as long as it is his. While identity is in question, the page says so."""
    in_use = sorted((one for one in order.patient.identifiers.all() if one.retired_at is None), key=lambda one: one.pk)
    stated = next((one for one in in_use if one.value == order.stated_mrn), next(iter(in_use), None))
    return f"{stated.type} {stated.value}" if stated else f"MRN {order.stated_mrn}, under identity check"


@register.simple_tag
def list_address(asked: Asked, **changes: str) -> str:
    """The address of the list that is shown, with some filters changed; an empty one goes."""
    return asked.address(**changes)


@register.filter
def of(said: Mapping[str, str], name: str) -> str:
    """A value by its name; empty where there is none."""
    return said.get(name, "")


@register.filter
def stage(order: Order) -> stages.Stage:
    """Where the order stands."""
    return stages.stage(order)


@register.filter
def stage_words(order: Order) -> str:
    """Where the order stands, in words alone."""
    return stages.stage(order).words


@register.filter
def amount(order: Order) -> str:
    """How much is scored."""
    return stages.amount(order)


@register.filter
def due(order: Order) -> datetime | None:
    """The due time that counts now."""
    return stages.due(order)


@register.filter
def scored_in(order: Order) -> str:
    """How long the scoring took: "scored in 33 s"."""
    return stages.scored_in(order)


@register.filter
def named(name: str, short: bool) -> str:
    """A name, or its initial."""
    return short_names.short(name) if short else name


@register.filter
def birth(patient: Patient) -> str:
    """A birth date that no country reads in another order: 31 Jan 1970."""
    return f"{patient.birth_date.day} {patient.birth_date:%b %Y}"


@register.filter
def number(value: Any) -> str:
    """1,139."""
    return f"{value:,}"


@register.filter
def flag_words(code: str) -> str:
    """The words of a reason code."""
    return wording.flag(code)


@register.filter
def file_size(count: int) -> str:
    """3.2 MB."""
    return wording.file_size(count)


@register.filter
def duration(seconds: float) -> str:
    """21 s."""
    return wording.duration(seconds)


@register.filter
def ago(moment: datetime) -> str:
    """How long ago: 21 s ago."""
    return f"{waited(moment)} ago"


@register.filter
def waited(moment: datetime) -> str:
    """How long it has been: 21 s."""
    return wording.duration(max(0.0, (clock.now() - moment).total_seconds()))


@register.filter
def words_of_outcome(outcome: str) -> str:
    """not_carried → not carried."""
    return outcome.replace("_", " ")


@register.filter
def labelled(cells: Sequence[str], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Each cell of a row with the name of its column."""
    return list(zip(columns, cells, strict=True))


@register.filter
def percent(share: float) -> str:
    """43 %."""
    return f"{round(share * 100)} %"
