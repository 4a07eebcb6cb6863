"""Who looks at patient data leaves an event: pages of an order or a patient, files, the audit trail."""

from django.db import transaction

from audit import reads
from audit import services as audit
from casefile.models import Attachment
from foundation.actor import Actor
from interop.models import FhirOrder
from orders import patients
from orders.models import Downtime, IdentityCheck, Intake, Order, Patient
from questions.models import Question


def order(actor: Actor, seen: Order) -> None:
    """Somebody has an order before him."""
    reads.seen(actor=actor, action="order.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def both_orders(actor: Actor, seen: Order, standing: Order | None) -> None:
    """Somebody has an order before him, and the one that has its number."""
    order(actor, seen)
    if standing is not None:
        order(actor, standing)


def asked(actor: Actor, seen: FhirOrder) -> None:
    """Somebody has before him what came by FHIR and is no order yet."""
    reads.seen(actor=actor, action="fhir.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def patient(actor: Actor, *seen: Patient | None) -> None:
    """Somebody has records before him."""
    for one in seen:
        if one is not None:
            patients.looked(actor=actor, patient=one)


def identity(actor: Actor, seen: Order, check: IdentityCheck | None) -> None:
    """Somebody has an order before him, and the record that its statement is held against."""
    order(actor, seen)
    patient(actor, check.known if check else None)


def downtime(actor: Actor, seen: Downtime) -> None:
    """Somebody has the reconciliation list of a downtime before him."""
    reads.seen(actor=actor, action="downtime.viewed", obj=seen, organisation_id=seen.organisation_id)


def downtime_taken(actor: Actor, taken: Downtime) -> None:
    """Somebody took it away; each time is an event."""
    with transaction.atomic():
        audit.record(actor=actor, action="downtime.exported", obj=taken, organisation_id=taken.organisation_id)


def trail(actor: Actor, seen: Order) -> None:
    """Somebody has its audit trail before him."""
    reads.seen(actor=actor, action="audit.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def question_trail(actor: Actor, seen: Question) -> None:
    """Somebody has the audit trail of a question before him."""
    reads.seen(actor=actor, action="audit.viewed", obj=seen, organisation_id=seen.organisation_id)


def export(actor: Actor, taken: Order) -> None:
    """Somebody took its audit trail away; each time is an event."""
    with transaction.atomic():
        audit.record(actor=actor, action="audit.exported", obj=taken, organisation_id=taken.performing_laboratory_id)


def intake(actor: Actor, seen: Intake) -> None:
    """Somebody has the verdict on another person's upload before him."""
    if seen.created_by_id != actor.id:
        reads.seen(actor=actor, action="intake.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def question(actor: Actor, seen: Question) -> None:
    """Somebody has a question and its answer before him."""
    reads.seen(actor=actor, action="question.viewed", obj=seen, organisation_id=seen.organisation_id)


def question_taken(actor: Actor, taken: Question, name: str) -> None:
    """Somebody took an answer away; each time is an event."""
    with transaction.atomic():
        audit.record(
            actor=actor, action="question.downloaded", obj=taken, organisation_id=taken.organisation_id, facts={"file": name}
        )


def attachment(actor: Actor, taken: Attachment) -> None:
    """Somebody opened a file."""
    facts = {"order": str(taken.order_id), "sha256": taken.file.sha256}
    reads.seen(actor=actor, action="attachment.downloaded", obj=taken, organisation_id=taken.organisation_id, facts=facts)
