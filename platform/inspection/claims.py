"""Who makes a report: one worker at a time, under a claim that every write checks; a dead one is found and replaced."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q

from audit import services as audit
from foundation import clock
from foundation.actor import process
from foundation.errors import HelicaseError, Stale
from inspection.machines import AUDIT_REPORT
from inspection.models import AuditReport
from outbox import services as outbox

TOPIC = "audit_report.make"
ACTOR = process("audit reports")
STALLED = timedelta(minutes=5)  # a worker says how far its rows are; the proof and the pack of a year take minutes without a word
FORGOTTEN = timedelta(seconds=15)  # waiting without being taken up
MOST_TRIES = 3


class Superseded(HelicaseError):
    """Another worker has taken this report up, or a person has withdrawn it: nothing more is written."""


def ask(report: AuditReport) -> None:
    """Post the message that has a platform worker make it, inside the caller's transaction."""
    outbox.post(topic=TOPIC, payload={"report": str(report.pk)}, organisation_id=report.organisation_id)


def take(pk: UUID) -> AuditReport | None:
    """Claim a report that nobody makes; None where there is nothing to do."""
    with transaction.atomic():
        report = AuditReport.objects.select_for_update(of=("self",)).filter(pk=pk, state="queued").first()
        if report is None:
            return None
        now = clock.now()
        changes: dict[str, Any] = {"claim": uuid4(), "claimed_at": now, "tries": report.tries + 1, "rows_done": 0}
        audit.transition(AUDIT_REPORT, report, to="running", actor=ACTOR, **changes)
        return AuditReport.objects.select_related("organisation", "asked_by").get(pk=pk)


def come_further(report: AuditReport, done: int) -> None:
    """Keep how many rows are written. Raises `Superseded` where the claim is gone."""
    mine = AuditReport.objects.filter(pk=report.pk, claim=report.claim, state="running")
    if not mine.update(rows_done=done, claimed_at=clock.now()):
        raise Superseded


def end(report: AuditReport, *, to: str, reason: str = "", **changes: Any) -> None:
    """Write what came of it, inside the caller's transaction. Raises `Superseded` where the claim is gone."""
    locked = AuditReport.objects.select_for_update().filter(pk=report.pk, claim=report.claim, state="running").first()
    if locked is None:
        raise Superseded
    audit.transition(AUDIT_REPORT, locked, to=to, actor=ACTOR, reason=reason, claim=None, ended_at=clock.now(), **changes)


def recover() -> int:
    """Give back what dead workers held, and ask again for what was lost on the way; how many."""
    now = clock.now()
    stalled = AuditReport.objects.filter(state="running", claimed_at__lt=now - STALLED)
    lost = AuditReport.objects.filter(
        Q(claimed_at__lt=now - FORGOTTEN) | Q(claimed_at=None, asked_at__lt=now - FORGOTTEN), state="queued"
    )
    return sum(_again(pk) for pk in [*stalled.values_list("pk", flat=True), *lost.values_list("pk", flat=True)])


def _again(pk: UUID) -> bool:
    with transaction.atomic():
        rows = AuditReport.objects.select_for_update(skip_locked=True).filter(pk=pk, state__in=AuditReport.WORKING)
        report = rows.first()
        if report is None:
            return False
        try:
            if report.state == "running":
                to = "failed" if report.tries >= MOST_TRIES else "queued"
                ended: dict[str, Any] = {"ended_at": clock.now()} if to == "failed" else {}
                reason = "audit.report-failed" if to == "failed" else ""
                audit.transition(
                    AUDIT_REPORT, report, to=to, actor=ACTOR, reason=reason, claim=None, claimed_at=clock.now(), **ended
                )
            else:
                AuditReport.objects.filter(pk=pk).update(claimed_at=clock.now())
        except Stale:
            return False
        if report.state == "queued":
            ask(report)
        return True
