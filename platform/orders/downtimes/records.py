"""Write down a downtime, say when it ended, and close it when everything of it is reconciled. Each function is one transaction."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from django.db import connection, transaction

from accounts.models import Organisation
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from orders.downtimes import lines
from orders.downtimes.rows import MOST_BACK, Downtime, DowntimeLine, StatList, What
from orders.errors import InvalidOrder
from orders.machines import DOWNTIME
from orders.remarks import remark

USUAL = timedelta(days=14)  # for late entries after its end, unless its laboratory says otherwise


def open_downtime(
    *, actor: Actor, laboratory_id: UUID, what: str, words: str, began_at: datetime, ended_at: datetime | None = None,
    entry_days: int = USUAL.days,
) -> Downtime:  # fmt: skip
    """Write down that a laboratory works, or worked, without the platform. Raises `NotPermitted` or `InvalidOrder` by field."""
    require(actor, Verb.DOWNTIME, laboratory_id)
    now, wrong = clock.now(), {}
    if what not in What.values:
        wrong["what"] = ["Choose what was down."]
    if began_at > now:
        wrong["began_at"] = ["The beginning lies in the future."]
    elif began_at < now - MOST_BACK:
        wrong["began_at"] = [f"It began more than {MOST_BACK.days} days ago: look at the date."]
    wrong |= _of_end(began_at, ended_at, entry_days, now)
    if not Organisation.objects.filter(pk=laboratory_id, is_laboratory=True).exists():
        wrong["laboratory"] = ["Only a laboratory has downtimes."]
    if wrong:
        raise InvalidOrder(wrong)
    said = remark(words, field="words", missing="Say why it was down.")
    with transaction.atomic():
        made: Downtime = Downtime.objects.create(
            organisation_id=laboratory_id, number=_next_number(laboratory_id), what=what, words=said, began_at=began_at,
            ended_at=ended_at, entries_until=ended_at + timedelta(days=entry_days) if ended_at else None,
            stat_list=last_list(laboratory_id, began_at), opened_by_id=cast(UUID, actor.id), opened_at=now,
        )  # fmt: skip
        facts = {"what": what, "began_at": began_at.isoformat(), "ended_at": ended_at.isoformat() if ended_at else ""}
        lines.tell(made, "downtime.opened", actor, facts)
        lines.refresh(made)
    return made


def end(*, actor: Actor, downtime: Downtime, ended_at: datetime, entry_days: int = USUAL.days) -> None:
    """Say when it was over, and for how long late entries are taken. Raises `NotPermitted`, `InvalidOrder` or `Refused`."""
    require(actor, Verb.DOWNTIME, downtime.organisation_id)
    with transaction.atomic():
        locked = lines.lock(downtime)
        if locked.ended_at is not None:
            raise Refused("It was said before when this downtime ended.", code="state.stale")
        if wrong := _of_end(locked.began_at, ended_at, entry_days, clock.now()):
            raise InvalidOrder(wrong)
        last = locked.late_entries.order_by("-requested_at").first()
        if last is not None and last.requested_at > ended_at:
            raise InvalidOrder({"ended_at": ["An order that was entered late was requested after this."]})
        locked.ended_at, locked.entries_until = ended_at, ended_at + timedelta(days=entry_days)
        locked.save(update_fields=["ended_at", "entries_until"])
        lines.tell(locked, "downtime.ended", actor, {"ended_at": ended_at.isoformat(), "days": entry_days})
        lines.refresh(locked)


def close(*, actor: Actor, downtime: Downtime, words: str) -> None:
    """Nothing of it is open any more. Raises `NotPermitted`, `InvalidOrder`, or `Refused` while a line is open."""
    require(actor, Verb.DOWNTIME, downtime.organisation_id)
    said = remark(words, field="words", missing="Say that, and how, everything was reconciled.")
    with transaction.atomic():
        locked = lines.lock(downtime)
        if locked.ended_at is None:
            raise Refused("Say first when the downtime ended.", code="state.stale")
        lines.refresh(locked)
        left = DowntimeLine.objects.filter(downtime=locked, ticked_at=None).count()
        if not left:
            _close(locked, actor, "closed", said)
    if left:  # what was found just now stays in the list
        raise Refused(f"{left:,} line{'' if left == 1 else 's'} of the list {'is' if left == 1 else 'are'} open. Tick them first.")


def withdraw(*, actor: Actor, downtime: Downtime, words: str) -> None:
    """There was no such downtime. Raises `NotPermitted`, `InvalidOrder`, or `Refused` where an order belongs to it."""
    require(actor, Verb.DOWNTIME, downtime.organisation_id)
    said = remark(words, field="words", missing="Say why this is no downtime.")
    with transaction.atomic():
        locked = lines.lock(downtime)
        if locked.late_entries.exists():
            raise Refused("Orders were entered late for this downtime: it is closed when they are reconciled.", code="state.stale")
        _close(locked, actor, "withdrawn", said)


def last_list(laboratory_id: UUID, before: datetime) -> StatList | None:
    """The STAT list that people of a laboratory had when it began."""
    found: StatList | None = (
        StatList.objects.filter(organisation_id=laboratory_id, began_at__lte=before, read_at__gte=before - timedelta(days=1))
        .order_by("-read_at")
        .filter(read_at__lte=before + timedelta(minutes=1))
        .first()
    )
    return found


def _close(locked: Downtime, actor: Actor, to: str, words: str) -> None:
    audit.transition(
        DOWNTIME, locked, to=to, actor=actor, closed_at=clock.now(), closed_by_id=actor.id, closing_words=words
    )  # fmt: skip


def _of_end(began_at: datetime, ended_at: datetime | None, entry_days: int, now: datetime) -> dict[str, list[str]]:
    wrong = {}
    if ended_at is not None and ended_at > now:
        wrong["ended_at"] = ["The end lies in the future."]
    elif ended_at is not None and ended_at <= began_at:
        wrong["ended_at"] = ["It would have ended before it began."]
    if not 1 <= entry_days <= MOST_BACK.days:
        wrong["entry_days"] = [f"Late entries are taken for 1 to {MOST_BACK.days} days."]
    return wrong


def _next_number(laboratory_id: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [str(laboratory_id)])
    return Downtime.objects.filter(organisation_id=laboratory_id).count() + 1
