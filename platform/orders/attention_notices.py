"""A part of an order waits for a person: one is named for it, and everybody is told who can let it go on."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction

from accounts.models import User
from accounts.people import people_who_may
from accounts.roles import Verb
from audit import services as audit
from foundation.actor import process
from notices import services as notices
from notices.models import Notice
from notices.services import Audience, Told
from orders.models import Order
from outbox import services as outbox

if TYPE_CHECKING:
    from engine_queue.outcomes import Fact

TOPIC, KIND = "order.part_waits", "order.part_waits"


def hear(fact: "Fact") -> None:
    """Hand a part that waits to the outbox, in the transaction in which it began to wait."""
    if fact.kind == "attention" and fact.run.order_id is not None and fact.job is not None:
        said = {"order": str(fact.run.order_id), "job": fact.job.pk, "attempt": fact.job.attempt, "reason": fact.reason}
        outbox.post(topic=TOPIC, payload=said, organisation_id=fact.run.organisation_id)


def deliver(payload: Mapping[str, Any]) -> None:
    """Name whose work the order is, else an operator: he gets an e-mail too. Every operator is told, since they let it go on."""
    order = Order.objects.select_related("assignee").get(pk=payload["order"])
    operators = people_who_may(Verb.DRAIN, [order.performing_laboratory_id])
    people: list[User] = [one for one in (order.assignee, *operators) if one is not None]
    if order.ended_at is not None or not people:
        return
    facts = {"reason": payload["reason"], "person": people[0].name}
    key = f"part:{payload['job']}:{payload['attempt']}"
    told = Told(key, KIND, order.performing_laboratory_id, [order.performing_laboratory_id], order.pk, order.accession, facts)
    with transaction.atomic():
        if Notice.objects.filter(key=key).exists():
            return
        notice = notices.tell(told, Audience(in_app={one.pk for one in people}, email=[people[0].pk]))
        named = {"assignee": str(people[0].pk), "notice": str(notice.pk)}
        audit.record(
            actor=process("notices"), action="order.person_named", obj=order, organisation_id=order.performing_laboratory_id,
            reason=payload["reason"], facts=named,
        )  # fmt: skip
