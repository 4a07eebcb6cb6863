"""Ask for an audit report, withdraw one, take one away. Each leaves an event: who inspects is inspected."""

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction

from accounts.models import Organisation
from accounts.roles import Verb
from accounts.services import require
from audit import reads
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from inspection import asking, claims
from inspection.machines import AUDIT_REPORT
from inspection.models import AuditReport

MOST_WAITING = 5  # of one laboratory: a sixth waits until one is made


class TooMany(Refused):
    """Five audit reports of this laboratory are being made. Ask again when one of them is there."""


def ask(*, actor: Actor, laboratory_id: UUID, kind: str, typed: Mapping[str, str]) -> AuditReport:
    """Have a report made. Raises `NotPermitted`, `NotFound`, `InvalidAsked` field by field, or `TooMany`."""
    require(actor, Verb.VIEW_AUDIT, laboratory_id)
    laboratory = Organisation.objects.filter(pk=laboratory_id).first()
    if laboratory is None or actor.id is None:
        raise NotFound
    chosen, said, words = asking.read(laboratory, kind, typed, asking.today_in(laboratory.zone))
    with transaction.atomic():
        Organisation.objects.select_for_update(no_key=True).get(pk=laboratory_id)
        if AuditReport.objects.filter(organisation=laboratory, state__in=AuditReport.WORKING).count() >= MOST_WAITING:
            raise TooMany(code="audit.too-many")
        report = AuditReport.objects.create(
            organisation=laboratory, kind=chosen.code, asked=said, subject=words[:300], asked_by_id=actor.id, asked_at=clock.now(),
            time_zone=laboratory.time_zone,
        )  # fmt: skip
        audit.record(
            actor=actor,
            action="audit_report.asked",
            obj=report,
            organisation_id=laboratory.pk,
            facts={"kind": chosen.code, **_ids(said)},
        )
        claims.ask(report)
    return report


def withdraw(*, actor: Actor, report: AuditReport) -> None:
    """Nobody wants it any more: what is under way ends at its next second. Raises `NotPermitted` or `Refused`."""
    require(actor, Verb.VIEW_AUDIT, report.organisation_id)
    with transaction.atomic():
        locked = AuditReport.objects.select_for_update().get(pk=report.pk)
        if locked.state not in AuditReport.WORKING:
            raise Refused("This report is not being made any more.", code="audit.report-ended")
        audit.transition(AUDIT_REPORT, locked, to="withdrawn", actor=actor, claim=None, ended_at=clock.now())


def looked(*, actor: Actor, report: AuditReport) -> None:
    """Write that somebody has it before him."""
    reads.seen(actor=actor, action="audit_report.viewed", obj=report, organisation_id=report.organisation_id)


def taken(*, actor: Actor, report: AuditReport, name: str) -> None:
    """Write that somebody took a file of it away; each time is an event."""
    require(actor, Verb.EXPORT, report.organisation_id)
    with transaction.atomic():
        audit.record(
            actor=actor, action="audit_report.taken", obj=report, organisation_id=report.organisation_id, facts={"file": name}
        )


def _ids(said: Mapping[str, object]) -> dict[str, object]:
    """What was asked about, without the words: events hold ids."""
    return {name: value["id"] if isinstance(value, dict) else value for name, value in said.items()}
