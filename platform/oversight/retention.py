"""How long records are kept, legal holds, and the deletion of what is over: each record by the database, which looks again."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import NOBODY, Actor
from foundation.errors import NotFound, Refused, Stale
from oversight.record_classes import BY_CODE, CLASSES, DELETE, MOST_DAYS, RecordClass
from oversight.retention_models import HoldKind, LegalHold, RetentionRule

log = structlog.get_logger(__name__)
LOCK = 7_310_553  # of the advisory lock: one process deletes
BATCH = 200
SOON = timedelta(days=30)
_PATIENCE = "SET LOCAL statement_timeout = '10min'"  # an order of a whole genome has millions of rows
_FOUND = """
    SELECT id, place, name, since, since + make_interval(hours => 24 * retention_days(place, %(class)s)), blocks
    FROM ({}) found (id, place, name, since, blocks) WHERE {} AND {} ORDER BY since, id LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Candidate:
    """A record whose period is over, or will be soon."""

    record_class: RecordClass
    id: UUID
    organisation_id: UUID
    name: str
    since: datetime
    due: datetime
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class On:
    """What a legal hold is on, found by who calls."""

    kind: HoldKind
    about: str
    order_id: UUID | None = None
    patient_id: UUID | None = None
    first_at: datetime | None = None
    until_at: datetime | None = None


def days_of(organisation_id: UUID) -> dict[str, int]:
    """How long each class is kept there now, as the database counts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT c, retention_days(%s, c) FROM unnest(%s::text[]) c", [organisation_id, list(BY_CODE)])
        return dict(cursor.fetchall())


def set_rule(*, actor: Actor, organisation_id: UUID, record_class: str, days: int, words: str) -> RetentionRule:
    """Keep records of a class for so long from now on. Raises `NotPermitted`, and `Refused` below the floor."""
    require(actor, Verb.SET_RETENTION, organisation_id)
    known = BY_CODE.get(record_class)
    if known is None or not words.strip():
        raise Refused("Choose a class of records, and say in words why its period changes.", code="retention.incomplete")
    if not known.floor <= days <= MOST_DAYS:
        raise Refused(f"{known.name} are kept for {known.floor:,} days at least, {MOST_DAYS:,} at most.", code="retention.floor")
    with transaction.atomic():
        rule = RetentionRule.objects.create(
            organisation_id=organisation_id, record_class=record_class, days=days, words=words.strip(),
            set_by_id=actor.id or NOBODY, set_at=clock.now(),
        )  # fmt: skip
        facts = {"class": record_class, "days": days}
        audit.record(actor=actor, action="retention.rule_set", obj=rule, organisation_id=organisation_id, facts=facts)
    return rule


def place_hold(*, actor: Actor, organisation_id: UUID, on: On, words: str) -> LegalHold:
    """From now on nothing of this is deleted. Raises `NotPermitted`, and `Refused` without words."""
    require(actor, Verb.LEGAL_HOLD, organisation_id)
    if not words.strip():
        raise Refused("Say in words why nothing of this may be deleted.", code="retention.incomplete")
    with transaction.atomic():
        hold = LegalHold.objects.create(
            organisation_id=organisation_id, kind=on.kind, order_id=on.order_id, patient_id=on.patient_id, first_at=on.first_at,
            until_at=on.until_at, about=on.about[:200], words=words.strip(), placed_by_id=actor.id or NOBODY, placed_at=clock.now(),
        )  # fmt: skip
        facts = {"on": on.kind.value, "order": str(on.order_id or ""), "patient": str(on.patient_id or "")}
        audit.record(actor=actor, action="legal_hold.placed", obj=hold, organisation_id=organisation_id, facts=facts)
    return hold


def lift_hold(*, actor: Actor, pk: int, words: str) -> None:
    """Another person than who placed it lets deletion go on. Raises `NotFound`, `Refused`, `Stale`."""
    hold = LegalHold.objects.for_actor(actor).filter(pk=pk).first()
    if hold is None:
        raise NotFound
    if hold.placed_by_id == actor.id:
        raise Refused("It was you who placed it: another person lifts it.", code="retention.own-hold")
    if not words.strip():
        raise Refused("Say in words why it is lifted.", code="retention.incomplete")
    with transaction.atomic():
        said = {"lifted_by_id": actor.id, "lifted_at": clock.now(), "lifted_words": words.strip()}
        if not LegalHold.objects.filter(pk=pk, lifted_at=None).update(**said):
            raise Stale(code="state.stale")
        audit.record(actor=actor, action="legal_hold.lifted", obj=hold, organisation_id=hold.organisation_id)


def candidates(
    organisations: list[UUID] | None, *, ahead: timedelta = timedelta(0), limit: int = BATCH, free: bool = False
) -> Iterator[Candidate]:
    """Records whose period is over by then, class by class, the oldest first, each with what blocks it.

    `organisations`: whose; `None`: everybody's. `free`: only those that nothing blocks.
    """
    places = "place = ANY(%(places)s)" if organisations is not None else "true"
    for one in CLASSES:
        said: dict[str, Any] = {"places": organisations, "class": one.code, "ahead": ahead, "limit": limit}
        with connection.cursor() as cursor:
            cursor.execute(_FOUND.format(one.source, places, "blocks = '{}'" if free else "true"), said)
            rows = cursor.fetchall()
        for pk, place, name, since, due, blocks in rows:
            yield Candidate(one, pk, place, name, since, due, tuple(blocks))


def delete(record_class: str, pk: UUID) -> bool:
    """Have the database delete one record. False: it is gone already, not over, or blocked; nothing was touched."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_PATIENCE)
            cursor.execute(f"SELECT retention_delete_{DELETE[record_class]}(%s)", [pk])
            return bool(cursor.fetchone()[0])
    except (IntegrityError, OperationalError) as error:  # something that no class knows of rests on it, or it is locked
        log.warning("retention.still_needed", record_class=record_class, id=str(pk), error=type(error).__name__)
        return False


def run(*, until: datetime | None = None) -> dict[str, int]:
    """Delete what is over and not blocked, in transactions of one record each, by class. Nothing where another process does it."""
    done = dict.fromkeys(BY_CODE, 0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return done
    try:
        for one in candidates(None, free=True):
            if until is not None and clock.now() >= until:
                break
            if delete(one.record_class.code, one.id):
                done[one.record_class.code] += 1
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    return done


def rules(organisation_id: UUID) -> dict[str, RetentionRule]:
    """The rule that stands for each class there, where somebody has set one."""
    rows = RetentionRule.objects.filter(organisation_id=organisation_id).select_related("set_by").order_by("id")
    return {one.record_class: one for one in rows}


def holds(organisation_id: UUID) -> list[LegalHold]:
    """Every legal hold there, those that stand first, the newest first."""
    rows = LegalHold.objects.filter(organisation_id=organisation_id).select_related("placed_by", "lifted_by")
    return list(rows.order_by(F("lifted_at").desc(nulls_first=True), "-id"))
