"""From the cells of a row to what is asked for: dates, times and codes read without a guess."""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from foundation import clock
from foundation.reasons import Reason
from orders.manifests.columns import LATE
from orders.manifests.errors import Objection, objection
from orders.requests import LateDetails, OrderRequest, PatientDetails, SpecimenDetails
from orders.specimen_models import Condition
from registry.priority import PRIORITY_RANK, Priority

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(?P<offset>Z|[+-]\d{2}:?\d{2})?\Z", re.IGNORECASE)
NO_INTAKE = UUID(int=0)


@dataclass
class Read:
    """A row as an order, with what could not be read; `unread` are fields that hold a stand-in."""

    request: OrderRequest
    objections: list[Objection] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)


def rank_of(cells: dict[str, str]) -> int:
    """Where the row stands in line: STAT first, what cannot be read last."""
    said = cells["priority"].casefold()
    return PRIORITY_RANK[said] if said in Priority.values else len(Priority)


def read(cells: dict[str, str], *, organisation_id: UUID, zone: ZoneInfo) -> Read:
    """What a row asks for. Faults that `orders.validation` finds too are left to it: one place knows the rules."""
    said: list[Objection] = []
    unread: set[str] = set()
    born = _birth_date(cells["birth_date"], said)
    collected = _moment("collected_at", cells["collected_at"], zone, said)
    if born is None:
        unread.add("birth_date")
    if born is None or collected is None:
        unread.add("collected_at")
    priority = cells["priority"].casefold()
    if priority == Priority.STAT and not cells["stat_reason"]:
        said.append(objection("stat_reason", Reason.MANIFEST_STAT_REASON))
    request = OrderRequest(
        intake_id=NO_INTAKE,
        ordering_organisation_id=organisation_id,
        patient=PatientDetails(
            mrn=cells["mrn"],
            family_name=cells["family_name"],
            given_name=cells["given_name"],
            birth_date=born or clock.now().date(),
            sex=cells["sex"].casefold(),
        ),
        specimen=SpecimenDetails(
            identifier=cells["specimen"],
            type=cells["specimen_type"],
            source=cells["specimen_source"],
            collected_at=collected or clock.now(),
        ),
        priority=priority,
        stat_reason=cells["stat_reason"] if priority == Priority.STAT else "",
        indication=cells["indication"],
        placer_system=cells["placer_system"],
        placer_number=cells["placer_number"],
        late=_late(cells, zone, said, unread),
    )
    return Read(request, said, unread)


def _birth_date(text: str, said: list[Objection]) -> date | None:
    try:
        if _DATE.match(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    said.append(objection("birth_date", Reason.MANIFEST_DATE, found=text or "nothing"))
    return None


def _late(cells: dict[str, str], zone: ZoneInfo, said: list[Objection], unread: set[str]) -> LateDetails | None:
    """What was true when the order was taken on paper; None where the row says nothing of that."""
    given = {name: cells.get(name, "") for name in LATE}  # rows that were sent before these columns were there have none of them
    if not any(given.values()):
        return None
    requested = _moment("requested_at", given["requested_at"], zone, said)
    received = _moment("received_at", given["received_at"], zone, said) if given["received_at"] else None
    unread |= {"requested_at"} if requested is None else set()
    unread |= {"received_at"} if received is None and given["received_at"] else set()
    return LateDetails(
        downtime=given["downtime"],
        requested_at=requested or clock.now(),
        taken_by=given["taken_by"],
        reason=given["late_reason"].casefold(),
        words=given["late_words"],
        received_at=received,
        condition=given["condition"].casefold() or Condition.ACCEPTABLE.value,
    )


def _moment(column: str, text: str, zone: ZoneInfo, said: list[Objection]) -> datetime | None:
    """With an offset it is what it says; without, the site's clock decides, and a time that came twice is asked back."""
    shape = _TIME.match(text)
    try:
        read = datetime.fromisoformat(text.upper().replace(" ", "T")) if shape else None
        if read is None:
            said.append(objection(column, Reason.MANIFEST_TIME, found=text or "nothing"))
            return None
        if read.tzinfo is not None:
            return read.astimezone(UTC)
        return _local(column, read, zone, said)
    except (ValueError, OverflowError):
        said.append(objection(column, Reason.MANIFEST_TIME, found=text))
        return None


def _local(column: str, read: datetime, zone: ZoneInfo, said: list[Objection]) -> datetime | None:
    first, second = read.replace(tzinfo=zone, fold=0), read.replace(tzinfo=zone, fold=1)
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != read:
        said.append(objection(column, Reason.MANIFEST_TIME_SKIPPED, zone=zone.key))
        return None
    if first.utcoffset() != second.utcoffset():
        both = [f"{read:%Y-%m-%d %H:%M}{_offset(each.utcoffset())}" for each in (first, second)]
        said.append(objection(column, Reason.MANIFEST_TIME_TWICE, zone=zone.key, first=both[0], second=both[1]))
        return None
    return first.astimezone(UTC)


def _offset(shift: timedelta | None) -> str:
    minutes = int((shift or timedelta()).total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
