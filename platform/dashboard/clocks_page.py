"""A director's page of clocks: working calendars, which test counts by which, and who is told of late work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.http import QueryDict

from accounts.models import Organisation
from accounts.roles import Role, Verb
from accounts.sites import main_site
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Refused, Stale
from notices.models import Channel, Endpoint
from orders import escalation_rules, promise
from orders.clock_models import LEVELS, Clock
from orders.errors import InvalidOrder
from orders.models import EscalationRule
from registry import calendars, hours
from registry.models import Calendar, TestDefinition
from registry.priority import Priority

DAY_FIELDS = [f"day{number}" for number in range(7)]
EXAMPLE_MINUTES = 480


@dataclass(frozen=True)
class Shown:
    """A calendar as the page tells it."""

    calendar: Calendar
    days: list[tuple[str, str]]  # days with the same hours together
    holiday: str
    example: Any  # when eight hours of work that begin now would be done


@dataclass(frozen=True)
class Choice:
    """Which clock counts for one priority of a test."""

    definition: TestDefinition
    priority: str
    minutes: list[int]
    code: str


def laboratory_of(actor: Actor, code: str = "") -> Organisation:
    """The laboratory that is asked for, or the first of this person's. Raises `NotFound` to who decides for none."""
    mine = laboratories(actor)
    found = next((one for one in mine if one.code == code), mine[0] if mine and not code else None)
    if found is None:
        raise NotFound
    return found


def laboratories(actor: Actor) -> list[Organisation]:
    """Those for which this person decides."""
    mine = Organisation.objects.filter(pk__in=actor.organisations(Verb.OFFER_TEST), is_laboratory=True)
    return list(mine.order_by("name"))


def page(actor: Actor, code: str) -> dict[str, object]:
    """Everything on the page of one laboratory."""
    laboratory = laboratory_of(actor, code)
    kept = calendars.of_laboratory(laboratory)
    own = escalation_rules.own(laboratory.pk)
    return {
        "laboratory": laboratory,
        "zone_of_site": main_site(laboratory.pk).time_zone,
        "laboratories": laboratories(actor),
        "calendars": [_shown(one, laboratory) for one in kept],
        "choices": _choices(laboratory),
        "codes": [(one.code, one.name) for one in kept],
        "rules": own or escalation_rules.DEFAULTS,
        "own_rules": bool(own),
        "clocks": Clock.choices, "levels": LEVELS, "priorities": Priority.choices, "channels": Channel.choices,
        "roles": [(role.value, role.label) for role in Role if role not in (Role.SERVICE, Role.REQUESTER)],
        "endpoints": list(Endpoint.objects.filter(organisation=laboratory, ended_at=None).order_by("name")),
    }  # fmt: skip


def change(actor: Actor, data: QueryDict) -> str:
    """Do what the form asks; the words that say it is done."""
    laboratory = laboratory_of(actor, data.get("laboratory", ""))
    match data.get("do", ""):
        case "choose":
            definition = TestDefinition.objects.filter(laboratory=laboratory, code=data.get("test", "")).first()
            if definition is None:
                raise Refused("The laboratory offers no such test.", code="calendar.test")
            calendars.choose(definition=definition, priority=data.get("priority", ""), code=data.get("calendar", ""), actor=actor)
            return "Orders that are accepted from now on count by that clock."
        case "rule":
            escalation_rules.add(laboratory=laboratory, said=data.dict(), actor=actor)
            return "The rule counts from now on."
        case "end rule":
            rule = EscalationRule.objects.filter(laboratory=laboratory, pk=_number(data.get("rule", ""))).first()
            if rule is None:
                raise NotFound
            escalation_rules.end(rule=rule, actor=actor)
            return "The rule counts no more."
    raise Refused("The page asked for nothing that can be done.", code="calendar.deed")


def editor(actor: Actor, parameters: Mapping[str, str]) -> dict[str, object]:
    """The form of one calendar, or of a new one."""
    laboratory = laboratory_of(actor, parameters.get("laboratory", ""))
    found = calendars.newest(laboratory.pk, parameters.get("code", ""))
    week = list(hours.written(found.weekly).values()) if found else ["08:00-17:00"] * 5 + ["", ""]
    values = {
        "code": found.code if found else "", "name": found.name if found else "",
        "holidays": "\n".join(f"{day} {name}" for day, name in found.holidays) if found else "",
        "expected": found.number if found else 0,
    }  # fmt: skip
    site_zone = main_site(laboratory.pk).time_zone
    return {"laboratory": laboratory, "zone_of_site": site_zone, "calendar": found, "values": values, "days": _day_rows(week)}


def keep(actor: Actor, data: Mapping[str, str]) -> Calendar:
    """Keep what the form of a calendar says. Raises `HelicaseError` in words."""
    laboratory = laboratory_of(actor, data.get("laboratory", ""))
    week = [data.get(field, "") for field in DAY_FIELDS]
    return calendars.keep(
        laboratory=laboratory, code=data.get("code", "").strip(), name=data.get("name", ""), week=week,
        holidays=data.get("holidays", ""), actor=actor, expected=_number(data.get("expected", "")),
    )  # fmt: skip


def refused(actor: Actor, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The form again with what was typed."""
    typed = {name: data.get(name, "") for name in ("code", "name", "holidays", "expected")}
    shown = editor(actor, {"laboratory": data.get("laboratory", ""), "code": data.get("code", "")})
    said = "Somebody else changed this calendar meanwhile. Open it again." if isinstance(error, Stale) else str(error)
    return shown | {"values": typed, "days": _day_rows([data.get(field, "") for field in DAY_FIELDS]), "errors": [said]}


def said(error: HelicaseError) -> list[str]:
    """Why a form was refused, sentence by sentence."""
    if isinstance(error, InvalidOrder):
        return [message for messages in error.fields.values() for message in messages]
    return [str(error)]


def _shown(calendar: Calendar, laboratory: Organisation) -> Shown:
    now = clock.now()
    zone = ZoneInfo(main_site(laboratory.pk).time_zone)
    coming = calendars.next_holiday(calendar, now.astimezone(zone).date())
    holiday = f"{coming[0].day} {coming[0]:%b %Y}, {coming[1]}" if coming else ""
    working = promise.working_time(calendar, zone.key)
    return Shown(calendar, _together(hours.written(calendar.weekly)), holiday, promise.due(now, EXAMPLE_MINUTES, working))


def _together(days: Mapping[str, str]) -> list[tuple[str, str]]:
    """Neighbouring days with the same hours as one line: Monday to Friday."""
    lines: list[list[str]] = []
    for day, said in days.items():
        if lines and lines[-1][2] == said:
            lines[-1][1] = day
        else:
            lines.append([day, day, said])
    return [(first if first == last else f"{first} to {last}", said or "closed") for first, last, said in lines]


def _choices(laboratory: Organisation) -> list[Choice]:
    definitions = TestDefinition.objects.filter(laboratory=laboratory, versions__offered=True).distinct().order_by("name")
    found = []
    for definition in definitions:
        version = definition.versions.filter(offered=True).order_by("-number").first()
        if version is not None:
            found += [
                Choice(definition, priority, version.sla_minutes[priority], calendars.chosen(definition.pk, priority))
                for priority in Priority.values
            ]
    return found


def _day_rows(week: list[str]) -> list[tuple[str, str, str]]:
    return list(zip(DAY_FIELDS, hours.DAYS, week, strict=True))


def _number(said: str) -> int:
    return int(said) if said.isdecimal() and len(said) < 10 else 0
