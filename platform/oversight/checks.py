"""Ask for a check of the audit chain, run it, keep what it saw."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import Error, connection, transaction
from django.db.models import Q, QuerySet

from accounts.roles import Verb
from audit import services as audit
from audit.models import Sealing
from audit.verifying import Asked, Outcome, verify
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import NotPermitted, Stale
from outbox import services as outbox
from oversight import telling
from oversight.machines import CHECK
from oversight.models import Check

log = structlog.get_logger(__name__)
TOPIC = "audit.check"
ACTOR = process("check of the audit chain")
NIGHT = 2  # o'clock, UTC: from then on a day without a check of its own gets one
SILENT = timedelta(minutes=2)  # of a worker that says nothing any more
LOST = timedelta(minutes=10)  # that a check has waited
SAID_EVERY = 1.0  # seconds


def ask(actor: Actor) -> Check:
    """Have the chain checked by a worker; one that is open already is the one. Raises `NotPermitted`."""
    organisations = sorted(actor.organisations(Verb.VIEW_AUDIT))
    if not organisations:
        raise NotPermitted("Your role does not include the audit trail.", code="access.not-permitted")
    with transaction.atomic():
        made, new = _opened(actor)
        if new:
            audit.record(actor=actor, action="audit.check_asked", obj=made, organisation_id=organisations[0])
    return made


def watch() -> None:
    """Give back what a dead worker left; the check of every night; one after trouble with the anchors."""
    now = clock.now()
    for left in Check.objects.filter(Q(state="running", seen_at__lt=now - SILENT) | Q(state="waiting", asked_at__lt=now - LOST)):
        with transaction.atomic():
            _post(left)
    with transaction.atomic():
        if _night_is_due(now) or _trouble_is_unseen():
            _opened(ACTOR)


def run(pk: UUID) -> None:
    """The job of a worker. A second delivery of the same message finds nothing to do."""
    check = _claimed(pk)
    if check is None:
        return
    good = Check.objects.filter(state="good").exclude(mark="").order_by("-number").first()
    asked = Asked(mark=good.mark if good is not None else "")
    try:
        with connection.cursor() as cursor:
            outcome = verify(cursor, settings.AUDIT_ANCHORS, asked, now=clock.now(), told=_progress(check))
    except (OSError, Error) as error:
        log.exception("audit.check_failed", check=str(check.pk))
        _end(check, "failed", said=f"It could not be carried out ({type(error).__name__}).")
        return
    _end(check, outcome.verdict, seen=as_facts(outcome), mark=outcome.mark, done=outcome.links, whole=outcome.links)


def as_facts(outcome: Outcome) -> dict[str, Any]:
    """What a check saw, as JSON."""
    numbers = {
        "links": outcome.links, "events": outcome.events, "first": outcome.first, "unsealed": outcome.unsealed,
        "unanchored": outcome.unanchored, "anchors": outcome.anchors, "anchored_seq": outcome.anchored_seq, "late": outcome.late,
        "found": outcome.found, "seconds": round(outcome.seconds, 3), "latest_seconds": round(outcome.latest.total_seconds(), 3),
    }  # fmt: skip
    times = {
        "anchored_at": outcome.anchored_at,
        "oldest_unsealed": outcome.oldest_unsealed.isoformat() if outcome.oldest_unsealed else "",
        "oldest_unanchored": outcome.oldest_unanchored.isoformat() if outcome.oldest_unanchored else "",
    }
    found = [{"code": one.code, "words": one.words, "where": one.where, "when": one.when} for one in outcome.findings]
    return {**numbers, **times, "findings": found}


def newest(*states: str) -> Check | None:
    """The newest check in one of these states, whatever its times say: clocks run ahead."""
    return Check.objects.filter(state__in=states).order_by("-number").first()


def history() -> QuerySet[Check]:
    """All of them, the newest first."""
    return Check.objects.order_by("-number")


def _opened(actor: Actor) -> tuple[Check, bool]:
    """The open check, and whether it is a new one."""
    Sealing.objects.select_for_update().first()  # two people press at once
    found = newest(*Check.OPEN)
    if found is not None:
        return found, False
    made = Check.objects.create(asked_by=actor.id, asked_by_name=actor.name, asked_at=clock.now())
    _post(made)
    return made, True


def _post(check: Check) -> None:
    outbox.post(topic=TOPIC, payload={"check": str(check.pk)}, organisation_id=check.audit_organisation_id)


def _night_is_due(now: datetime) -> bool:
    tonight = now.astimezone(UTC).replace(hour=NIGHT, minute=0, second=0, microsecond=0)
    tonight -= timedelta(days=now < tonight)
    return not Check.objects.filter(asked_by=None, asked_at__range=(tonight, now)).exists()  # one of a clock ahead is of no night


def _trouble_is_unseen() -> bool:
    at = Sealing.objects.exclude(trouble="").values_list("trouble_at", flat=True).first()
    return at is not None and not Check.objects.filter(asked_at__range=(at, clock.now())).exists()


def _claimed(pk: UUID) -> Check | None:
    """Ours to run: one that waits, or whose worker has said nothing for so long that it is dead."""
    with transaction.atomic():
        check = Check.objects.select_for_update(skip_locked=True).filter(pk=pk, state__in=Check.OPEN).first()
        now = clock.now()
        if check is None:
            return None
        if check.state == "running":
            if check.seen_at is not None and check.seen_at > now - SILENT:
                return None
            Check.objects.filter(pk=pk).update(seen_at=now, done=0)
            return check
        audit.transition(CHECK, check, to="running", actor=ACTOR, started_at=now, seen_at=now)
    return check


def _progress(check: Check) -> Callable[[int, int], None]:
    last = monotonic()

    def told(done: int, whole: int) -> None:
        nonlocal last
        if monotonic() - last >= SAID_EVERY:
            last = monotonic()
            Check.objects.filter(pk=check.pk, state="running").update(done=done, whole=whole, seen_at=clock.now())

    return told


def _end(check: Check, state: str, **columns: Any) -> None:
    try:
        with transaction.atomic():
            audit.transition(CHECK, check, to=state, actor=ACTOR, ended_at=clock.now(), **columns)
            if state == "good":
                Sealing.objects.filter(trouble_at__lte=check.asked_at).update(trouble="")
            elif state == "broken":
                telling.post_broken(check)
    except Stale:
        log.warning("audit.check_ended_elsewhere", check=str(check.pk))


def findings(seen: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a check found, as it was kept."""
    return list(seen.get("findings", []))
