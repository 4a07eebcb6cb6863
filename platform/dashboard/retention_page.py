"""How long a laboratory keeps its records, its legal holds, and what is deleted next, or is not and why."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from accounts.models import Organisation
from accounts.roles import Verb
from casefile import drafts, trail
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, NotPermitted, Refused
from inspection import periods
from inspection.event_words import in_full
from interop import idempotency
from oversight import retention
from oversight.record_classes import BLOCKS, BY_CODE, CLASSES, RecordClass
from oversight.retention import Candidate, On
from oversight.retention_models import HoldKind, RetentionRule
from reports.spreadsheet import disarmed
from storage.services import ORPHAN_SECONDS

SHOWN = 50  # of each class
EXPORTED = 5_000  # of each class
MOST = 500
# What is swept by the platform itself: no record of anybody's, or one that is still in hand.
FIXED = (
    ("Drafts that nobody saves", f"{drafts.KEPT.days} days, then they end; the ended ones are the class above"),
    ("Answers kept for a repeated request", f"{idempotency.KEPT_FOR // timedelta(hours=1)} hours"),
    ("Logins", f"{settings.SESSION_COOKIE_AGE // 3600} hours"),
    ("Bytes in the file store that no record speaks of", f"{ORPHAN_SECONDS // 3600} hours"),
    ("Audit events, their seals and anchors", "for ever: nothing deletes them"),
    ("Patients, people, tests, models and decisions about them", "for ever: nothing deletes them"),
)


@dataclass(frozen=True)
class Period:
    """One class on the page."""

    kind: RecordClass
    days: int
    rule: RetentionRule | None


@dataclass(frozen=True)
class Next:
    """One record that is over, or will be soon."""

    found: Candidate

    @property
    def why(self) -> str:
        """What keeps it; blank: nothing."""
        return "; ".join(BLOCKS[code] for code in self.found.blocks)


def place(actor: Actor, said: Mapping[str, str]) -> tuple[Organisation, list[Organisation]]:
    """Which organisation, of those where this person may place holds. Raises `NotPermitted` where that is none."""
    mine = Organisation.objects.filter(pk__in=actor.organisations(Verb.LEGAL_HOLD))
    laboratories = list(mine.order_by("name"))
    if not laboratories:
        raise NotPermitted("Your role does not include retention and legal holds.", code="access.not-permitted")
    return next((one for one in laboratories if one.code == said.get("laboratory")), laboratories[0]), laboratories


def page(actor: Actor, said: Mapping[str, str], error: HelicaseError | None = None) -> dict[str, object]:
    """Periods, holds, and what is deleted next."""
    laboratory, laboratories = place(actor, said)
    days, rules = retention.days_of(laboratory.pk), retention.rules(laboratory.pk)
    found = retention.candidates([laboratory.pk], ahead=retention.SOON, limit=SHOWN)
    return {
        "laboratory": laboratory, "laboratories": laboratories, "said": said, "most": MOST, "fixed": FIXED, "shown": SHOWN,
        "periods": [Period(one, days[one.code], rules.get(one.code)) for one in CLASSES],
        "holds": retention.holds(laboratory.pk), "hold_kinds": HoldKind.choices, "next": [Next(one) for one in found],
        "may_set": actor.may(Verb.SET_RETENTION, laboratory.pk), "errors": [("", str(error))] if error else [], "me": actor.id,
    }  # fmt: skip


def change(actor: Actor, data: Mapping[str, str], zone: ZoneInfo) -> str:
    """Do what the form asks; the words for it."""
    laboratory, _ = place(actor, data)
    words = data.get("words", "")[:MOST]
    match data.get("do"):
        case "rule":
            kind, days = data.get("class", ""), data.get("days", "")
            if not (days.isascii() and days.isdecimal() and len(days) < 7):
                raise Refused("Give the period in days, as a whole number.", code="retention.days")
            retention.set_rule(actor=actor, organisation_id=laboratory.pk, record_class=kind, days=int(days), words=words)
            return f"{BY_CODE[kind].name} are kept for {int(days):,} days from now on."
        case "hold":
            on = _on(actor, laboratory.pk, data, zone)
            retention.place_hold(actor=actor, organisation_id=laboratory.pk, on=on, words=words)
            return "The hold stands: nothing of it is deleted until another person lifts it."
        case "lift":
            number = data.get("hold", "")
            if not (number.isascii() and number.isdecimal() and len(number) < 16):
                raise NotFound
            retention.lift_hold(actor=actor, pk=int(number), words=words)
            return "The hold is lifted."
    raise Refused("Choose what is to be done.", code="retention.incomplete")


def as_csv(actor: Actor, said: Mapping[str, str], zone: ZoneInfo) -> Iterator[str]:
    """What is over or will be within a month, for a spreadsheet."""
    laboratory, _ = place(actor, said)
    yield _row(["class", "id", "name", "since", "due", "what keeps it"])
    for one in retention.candidates([laboratory.pk], ahead=retention.SOON, limit=EXPORTED):
        times = [in_full(one.since, zone), in_full(one.due, zone)]
        yield _row([one.record_class.code, str(one.id), one.name, *times, Next(one).why])


def _on(actor: Actor, laboratory: UUID, data: Mapping[str, str], zone: ZoneInfo) -> On:
    if data.get("kind") not in HoldKind.values:
        raise Refused("Choose what the hold is on.", code="retention.incomplete")
    kind = HoldKind(data["kind"])
    if kind is HoldKind.LABORATORY:
        return On(kind, "everything of the laboratory")
    if kind is HoldKind.PERIOD:
        return _period(kind, data, zone)
    order = trail.order_numbered(actor, data.get("order", "").replace("\0", "").strip()[:40])
    if order is None or order.performing_laboratory_id != laboratory:
        raise Refused("No order of this laboratory has this number.", code="retention.no-order")
    if kind is HoldKind.ORDER:
        return On(kind, f"order {order.accession}", order_id=order.pk)
    return On(kind, f"all orders of the patient of {order.accession}", patient_id=order.patient_id)


def _period(kind: HoldKind, data: Mapping[str, str], zone: ZoneInfo) -> On:
    try:
        first, last = (date.fromisoformat(data.get(name, "")) for name in ("first", "last"))
    except ValueError as error:
        raise Refused("Give the first and the last day of the period.", code="retention.period") from error
    if last < first:
        raise Refused("The last day lies before the first.", code="retention.period")
    asked = {"since": first.isoformat(), "until": last.isoformat()}
    since, until = periods.moments(asked, zone)
    return On(kind, f"what was placed or made from {periods.words(asked)}", first_at=since, until_at=until)


def _row(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([disarmed(cell) for cell in cells])
    return out.getvalue()
