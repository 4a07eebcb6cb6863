"""Working calendars of a laboratory, and which of its clocks run by them. What a director decided is never altered."""

import re
from collections.abc import Sequence
from datetime import date
from uuid import UUID

from django.db import transaction

from accounts.models import Organisation
from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Stale
from registry import hours, registering
from registry.errors import RegistrationRefused
from registry.models import Calendar, ClockChoice, TestDefinition
from registry.priority import Priority

LEAST_MINUTES = 300  # a week; with less, a month of work would be due in years
_CODE = re.compile(r"[a-z0-9-]{1,40}")


def keep(
    *, laboratory: Organisation, code: str, name: str, week: Sequence[str], holidays: str, actor: Actor, expected: int | None = None
) -> Calendar:
    """The calendar of this code as it is written here: the newest version where that is just so, else the next one.

    `expected` is the number of the version that the person saw, 0 for none. Raises `NotPermitted`, `RegistrationRefused` in words,
    or `Stale` when somebody else made a version meanwhile.
    """
    registering.require(actor, Verb.OFFER_TEST, laboratory)
    if not _CODE.fullmatch(code):
        raise _refused("The short name takes small letters, digits and dashes, at most 40.", "calendar.code")
    name = " ".join(name.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise _refused("The calendar needs a name of at most 80 letters.", "calendar.name")
    try:
        weekly, days = hours.parse_week(week), hours.parse_holidays(holidays)
    except hours.BadHours as error:
        raise _refused(str(error), "calendar.hours") from error
    if sum(ends - begins for day in weekly for begins, ends in day) < LEAST_MINUTES:
        raise _refused(f"A week needs at least {LEAST_MINUTES // 60} working hours.", "calendar.hours")
    with transaction.atomic():
        Organisation.objects.select_for_update(no_key=True).get(pk=laboratory.pk)
        latest = newest(laboratory.pk, code)
        if expected is not None and expected != (latest.number if latest else 0):
            raise Stale(code="state.stale")
        if latest is not None and (latest.name, latest.weekly, latest.holidays) == (name, weekly, days):
            return latest
        made = Calendar.objects.create(
            laboratory=laboratory, code=code, number=latest.number + 1 if latest else 1, name=name, weekly=weekly, holidays=days,
            created_at=clock.now(), created_by=actor.name,
        )  # fmt: skip
        registering.note(actor, "calendar.kept", made, {"code": code, "number": made.number}, laboratory)
        return made


def choose(*, definition: TestDefinition, priority: str, code: str, actor: Actor) -> None:
    """By which calendar this priority of a test counts for orders accepted from now on; a blank code: every minute does.

    Raises `NotPermitted` or `RegistrationRefused`.
    """
    laboratory = definition.laboratory
    registering.require(actor, Verb.OFFER_TEST, laboratory)
    if priority not in Priority.values:
        raise _refused("Choose STAT, ASAP, urgent or routine.", "calendar.priority")
    if code and newest(laboratory.pk, code) is None:
        raise _refused(f"The laboratory has no calendar {code[:40]}.", "calendar.unknown")
    with transaction.atomic():
        TestDefinition.objects.select_for_update(no_key=True).get(pk=definition.pk)
        if chosen(definition.pk, priority) == code:
            return
        made = ClockChoice.objects.create(
            definition=definition, priority=priority, calendar_code=code, chosen_at=clock.now(), chosen_by=actor.name
        )
        facts = {"test": definition.code, "priority": priority, "calendar": code}
        registering.note(actor, "calendar.chosen", made, facts, laboratory)


def chosen(definition_id: UUID, priority: str) -> str:
    """The code of the calendar that counts; blank where every minute does."""
    last = ClockChoice.objects.filter(definition_id=definition_id, priority=priority).order_by("-id").first()
    return last.calendar_code if last else ""


def newest(laboratory_id: UUID, code: str) -> Calendar | None:
    """The newest version of a calendar."""
    return Calendar.objects.filter(laboratory_id=laboratory_id, code=code).order_by("-number").first()


def counting(definition: TestDefinition, priority: str) -> Calendar | None:
    """The calendar by which this priority of a test counts now; None: every minute counts."""
    code = chosen(definition.pk, priority)
    return newest(definition.laboratory_id, code) if code else None


def of_laboratory(laboratory: Organisation) -> list[Calendar]:
    """The newest version of each of its calendars."""
    return list(Calendar.objects.filter(laboratory=laboratory).order_by("code", "-number").distinct("code"))


def next_holiday(calendar: Calendar, today: date) -> tuple[date, str] | None:
    """The next date on which no time counts."""
    coming = [(date.fromisoformat(day), name) for day, name in calendar.holidays if day >= today.isoformat()]
    return min(coming) if coming else None


def _refused(said: str, code: str) -> RegistrationRefused:
    return RegistrationRefused(said, code=code)
