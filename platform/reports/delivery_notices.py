"""Tell a recipient: by which ways he can be reached, the notice, and what became of its e-mail."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import User
from accounts.people import members_who_may
from accounts.roles import Role, Verb
from audit import services as audit
from foundation import clock
from foundation.actor import process
from notices import mail
from notices import services as notices
from notices.models import Delivery as Sent
from notices.services import Audience, Told
from orders import hints
from reports.delivering import note
from reports.delivery_models import Recipient, ReportDelivery
from reports.machines import DELIVERY
from reports.models import ReportKind

ACTOR = process("delivery")


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand over one delivery from the outbox. What was opened, or queued again since, is left alone."""
    with transaction.atomic():
        rows = ReportDelivery.objects.select_for_update(of=("self",)).select_related(
            "recipient__user", "recipient__provider", "recipient__hospital", "report_version", "order"
        )
        found = rows.get(pk=payload["delivery"])
        if found.state != "queued" or found.turn != payload["turn"]:
            return
        ways, audience = _ways(found.recipient, found)
        ReportDelivery.objects.filter(pk=found.pk).update(channels=ways)
        if not ways:
            _fail(found, _unreachable(found.recipient))
            return
        if ways != ["fhir"]:
            notices.tell(_told(found), audience)
        if "in_app" in ways and "email" not in ways:
            audit.transition(DELIVERY, found, to="sent", actor=ACTOR, sent_at=clock.now())
        hints.changed(found.order)


def hear(ended: Sent) -> None:
    """An e-mail was sent, or given up: so is the delivery that it belongs to, in the same transaction."""
    facts = ended.notice.facts
    if "delivery" not in facts:
        return
    rows = ReportDelivery.objects.select_for_update(of=("self",)).select_related("order", "recipient")
    found = rows.filter(pk=facts["delivery"], turn=facts["turn"]).first()
    if found is None:
        return
    if ended.state == "sent" and found.state in ("queued", "failed"):
        audit.transition(DELIVERY, found, to="sent", actor=ACTOR, sent_at=clock.now(), last_error="")
        hints.changed(found.order)
    elif ended.state == "failed" and found.state == "queued":
        _fail(found, f"The e-mail did not leave: {ended.last_error}")


def _fail(delivery: ReportDelivery, words: str) -> None:
    note(delivery, "failed", words=words[:300])
    audit.transition(DELIVERY, delivery, to="failed", actor=ACTOR, last_error=words[:300])
    hints.changed(delivery.order)


def _ways(recipient: Recipient, delivery: ReportDelivery) -> tuple[list[str], Audience]:
    """How this recipient can be reached now. Where no mail server is configured, the page alone."""
    user = recipient.user or (recipient.provider.user if recipient.provider else None)
    if user is not None:
        return _ways_to_person(user, delivery)
    there = recipient.hospital_id
    people: set[UUID] = set()
    if there is not None:
        members = members_who_may(Verb.PLACE).filter(organisation_id=there).exclude(role=Role.SERVICE)
        people = set(members.values_list("user_id", flat=True))
    addresses = [recipient.address] if recipient.address and mail.configured() else []
    ways = [*(["in_app"] if people else []), *(["email"] if addresses else [])]
    return ways, Audience(in_app=people, addresses=addresses)


def _ways_to_person(user: User, delivery: ReportDelivery) -> tuple[list[str], Audience]:
    parties = [delivery.order.ordering_organisation_id, delivery.order.performing_laboratory_id]
    belongs = members_who_may(Verb.VIEW_ORDER).filter(user=user, organisation_id__in=parties).exists()
    if not belongs:
        return [], Audience()
    if user.responsible_id is not None:
        return ["fhir"], Audience()
    if not mail.configured():
        return ["in_app"], Audience(in_app=[user.pk])
    return ["in_app", "email"], Audience(in_app=[user.pk], email=[user.pk])


def _unreachable(recipient: Recipient) -> str:
    if recipient.user is not None:
        return f"{recipient.name} may not see this order any more: no role in either organisation."
    if recipient.address:
        return "No mail server is configured here (EMAIL_HOST), and there is no account that could be told on the page."
    return f"{recipient.name} has neither an account here nor an e-mail address."


def _told(delivery: ReportDelivery) -> Told:
    """The notice of one recipient. Who does not belong to either side is told no number of the order."""
    order, version, hospital = delivery.order, delivery.report_version, delivery.recipient.hospital_id
    parties = {order.performing_laboratory_id, order.ordering_organisation_id}
    outside = hospital is not None and hospital not in parties
    facts = {
        "delivery": str(delivery.pk), "turn": delivery.turn, "number": version.number, "replaces": delivery.replaces,
        "kind": ReportKind(version.kind).label.lower(),
    }  # fmt: skip
    return Told(
        key=f"report:{delivery.pk}:{delivery.turn}", kind=f"report.{delivery.news}",
        organisation_id=order.performing_laboratory_id, parties=[*parties, *([hospital] if hospital else [])],
        order_id=None if outside else order.pk, accession="" if outside else order.accession, facts=facts,
    )  # fmt: skip
