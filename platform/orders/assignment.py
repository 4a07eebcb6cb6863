"""Whose work an order is: taken, given to a colleague, given back; and nobody's any more as soon as he may not work on it.

Each function is one transaction. Only who may work on orders of the performing laboratory takes, gives and is given them.
"""

from typing import cast
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.people import members_who_may
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation.actor import Actor, process
from foundation.errors import Refused
from foundation.reasons import Reason
from orders import hints
from orders.models import Order
from orders.urgency import open_order

ACTOR = process("assignments")
BATCH = 200  # orders of leavers in one turn


class NotAColleague(Refused):
    """This person does not work on orders of the performing laboratory, or does not any more. Choose another one."""


class Unchanged(Refused):
    """The order is in these hands already."""


def take(*, order: Order, actor: Actor, expected_edits: int) -> None:
    """Make it one's own work. Raises as `assign` does."""
    assign(order=order, to=cast(UUID, actor.id), actor=actor, expected_edits=expected_edits)


def assign(*, order: Order, to: UUID | None, actor: Actor, expected_edits: int) -> None:
    """Make an open order somebody's work, or with None nobody's. Raises `NotPermitted`, `Refused` or `Stale`."""
    require(actor, Verb.ASSIGN, order.performing_laboratory_id)
    with transaction.atomic():
        locked = open_order(order, expected_edits)
        if to is not None and not _colleague(to, locked.performing_laboratory_id):
            raise NotAColleague(code="assign.not-a-colleague")
        if to == locked.assignee_id:
            raise Unchanged("The order is nobody’s already." if to is None else "", code="assign.unchanged")
        _change(locked, to, actor)


def release_leavers() -> int:
    """Take open work from people who left, or may not work on it any more, and say whose it was; how many orders that were.

    It looks at what is, not at who was told to leave: an account or a membership may end by any way there is.
    """
    may = members_who_may(Verb.ASSIGN).filter(user=OuterRef("assignee"), organisation=OuterRef("performing_laboratory"))
    left = Order.objects.filter(~Exists(may), assignee__isnull=False, ended_at=None)
    released = 0
    for pk in left.values_list("pk", flat=True)[:BATCH]:
        with transaction.atomic():
            locked = left.select_for_update(of=("self",), skip_locked=True).filter(pk=pk).first()
            if locked is not None:
                _change(locked, None, ACTOR, left_by=locked.assignee_id, reason=str(Reason.ASSIGNEE_LEFT))
                released += 1
    return released


def _colleague(user: UUID, laboratory: UUID) -> bool:
    """Whether he may work there now; who leaves at this moment is noticed by the next turn of `release_leavers`."""
    return members_who_may(Verb.ASSIGN).filter(user=user, organisation=laboratory).exists()


def _change(locked: Order, to: UUID | None, actor: Actor, *, left_by: UUID | None = None, reason: str = "") -> None:
    before = locked.assignee_id
    locked.assignee_id, locked.left_by_id = to, left_by
    locked.version, locked.edits = locked.version + 1, locked.edits + 1
    locked.save(update_fields=["assignee", "left_by", "version", "edits"])
    audit.record(
        actor=actor,
        action="order.assigned" if to else "order.unassigned",
        obj=locked,
        organisation_id=locked.performing_laboratory_id,
        reason=reason,
        facts={"before": str(before or ""), "assignee": str(to or "")},
    )
    hints.changed(locked)
