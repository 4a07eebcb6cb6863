"""Tell where an order was placed that its specimen was rejected: whoever orders there on his page, who placed it by e-mail too."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from accounts.models import Membership
from accounts.roles import TABLE, Role, Verb
from notices import services as notices
from notices.services import Audience, Told
from orders.models import Order

KIND, TAKEN_BACK = "order.specimen_rejected", "order.rejection_taken_back"
_ORDERING = [role for role, verbs in TABLE.items() if Verb.PLACE in verbs and role is not Role.SERVICE]


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand over one rejection. The night shift reads it too: who placed the order may have gone home."""
    order = Order.objects.get(pk=payload["order"])
    there = Membership.objects.filter(organisation_id=order.ordering_organisation_id, ended_at=None, user__is_active=True)
    people: set[UUID] = set(there.filter(role__in=_ORDERING).values_list("user_id", flat=True))
    parties = [order.performing_laboratory_id, order.ordering_organisation_id]
    back, version = payload.get("taken_back"), payload.get("version")  # it was a mistake; of the specimen
    key = ":".join(filter(None, ["rejection", payload["specimen"], str(version or "")]))
    told = Told(
        key, TAKEN_BACK if back else KIND, order.performing_laboratory_id, parties, order.pk, order.accession,
        {"reason": payload["reason"]},
    )  # fmt: skip
    notices.tell(told, Audience(in_app=people, email=people & {order.placed_by_id} if order.placed_by_id else ()))
