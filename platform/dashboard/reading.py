"""Who looks at patient data leaves an event: pages of an order, its files, its audit trail."""

from django.db import transaction

from audit import reads
from audit import services as audit
from casefile.models import Attachment
from foundation.actor import Actor
from orders.models import Intake, Order


def order(actor: Actor, seen: Order) -> None:
    """Somebody has an order before him."""
    reads.seen(actor=actor, action="order.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def trail(actor: Actor, seen: Order) -> None:
    """Somebody has its audit trail before him."""
    reads.seen(actor=actor, action="audit.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def export(actor: Actor, taken: Order) -> None:
    """Somebody took its audit trail away; each time is an event."""
    with transaction.atomic():
        audit.record(actor=actor, action="audit.exported", obj=taken, organisation_id=taken.performing_laboratory_id)


def intake(actor: Actor, seen: Intake) -> None:
    """Somebody has the verdict on another person's upload before him."""
    if seen.created_by_id != actor.id:
        reads.seen(actor=actor, action="intake.viewed", obj=seen, organisation_id=seen.performing_laboratory_id)


def attachment(actor: Actor, taken: Attachment) -> None:
    """Somebody opened a file."""
    facts = {"order": str(taken.order_id), "sha256": taken.file.sha256}
    reads.seen(actor=actor, action="attachment.downloaded", obj=taken, organisation_id=taken.organisation_id, facts=facts)
