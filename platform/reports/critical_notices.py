"""Say that a critical result still waits for its call: at half, four fifths and all of the time for it, once each."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.people import members_who_may
from accounts.roles import Role, Verb
from audit import services as audit
from engine_queue.units import alone
from foundation import clock
from foundation.actor import process
from notices import mail
from notices import services as notices
from notices.services import Audience, Told
from orders.clock_models import LEVELS
from outbox import services as outbox
from reports.delivery_models import Critical, CriticalLevel

ACTOR = process("critical results")
LOCK = 7_241_014  # advisory: one looks at a time
TOPIC = "notice.critical"
WITHIN = timedelta(minutes=30)  # from the mark to the read-back
TURN = 200  # open ones of one turn


def sweep() -> int:
    """One turn over the open ones; how many levels were told."""
    with alone(LOCK) as ours:
        if not ours:
            return 0
        first = clock.now() - WITHIN * LEVELS[0] / 100
        waiting = Critical.objects.filter(state="open", marked_at__lte=first).exclude(levels__level=LEVELS[-1])
        ids = list(waiting.order_by("marked_at").values_list("pk", flat=True)[:TURN])
        return sum(_look(pk) for pk in ids)


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand over one level: to who works on it and who marked it, then everybody who calls, at last the directors by e-mail too."""
    found = CriticalLevel.objects.select_related("critical__order").get(pk=payload["level"])
    critical = found.critical
    if critical.state != "open":
        return
    order = critical.order
    minutes = int((found.at - critical.marked_at).total_seconds() // 60)
    told = Told(
        f"critical:{critical.pk}:{found.level}", "critical.open", critical.organisation_id, [critical.organisation_id],
        order.pk, order.accession, {"level": found.level, "minutes": minutes},
    )  # fmt: skip
    notices.tell(told, _audience(critical, found.level))


def _look(pk: UUID) -> int:
    with transaction.atomic():
        found = Critical.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=pk, state="open").first()
        if found is None:
            return 0
        share = (clock.now() - found.marked_at) / WITHIN * 100
        reached = [level for level in LEVELS if share >= level]
        if not reached or found.levels.filter(level__gte=reached[-1]).exists():
            return 0
        made = CriticalLevel.objects.create(
            organisation_id=found.organisation_id, critical=found, level=reached[-1], at=clock.now()
        )  # fmt: skip
        facts = {"level": made.level}
        audit.record(
            actor=ACTOR, action="critical.escalated", obj=found, organisation_id=found.organisation_id, facts=facts
        )  # fmt: skip
        outbox.post(topic=TOPIC, payload={"level": made.pk}, organisation_id=found.organisation_id)
    return 1


def _audience(critical: Critical, level: int) -> Audience:
    of_all = members_who_may(Verb.CALL_CRITICAL).filter(organisation_id=critical.organisation_id)
    people = {one for one in (critical.marked_by_id, critical.order.assignee_id) if one is not None}
    directors: set[UUID] = set()
    if level >= LEVELS[1]:
        people |= set(of_all.values_list("user_id", flat=True))
    if level >= LEVELS[2] and mail.configured():
        directors = set(of_all.filter(role=Role.DIRECTOR).values_list("user_id", flat=True))
    return Audience(in_app=people, email=directors)
