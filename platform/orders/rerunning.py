"""Run a reviewed order again: a new run on the same items, with what the first one was pinned to, and never a new attempt."""

import secrets
from typing import Any

from audit import services as audit
from engine_queue import cutting, tickets
from engine_queue.models import Run, RunKind
from foundation import clock
from foundation.actor import Actor
from foundation.reasons import Reason
from orders import hints, needs
from orders.machines import ORDER
from orders.models import Order
from registry.priority import PRIORITY_RANK

_PINNED = (
    "organisation_id", "order_id", "item_set_id", "test_version_id", "model_version_id", "deployment_id", "precision", "protocol",
    "reference_digest", "items_total", "tokens",
)  # fmt: skip


def run_again(*, locked: Order, of: Run, actor: Actor, reason: str) -> Run:
    """Put a locked order back into analysis with another run of `of`; it comes back to review when that one is scored.

    Due times were promised at acceptance: a return moves neither, so that nothing late is hidden by it.
    """
    now = clock.now()
    run = Run.objects.create(
        **{name: getattr(of, name) for name in _PINNED}, kind=RunKind.REPEAT, supersedes=of, seed=secrets.randbits(63),
        rank=PRIORITY_RANK[locked.priority], held=bool(locked.hold_reason), due_at=locked.report_due or now, created_at=now,
    )  # fmt: skip
    needs.settle(locked, str(Reason.RESULT_ITEM_FAILED))  # of the run that is repeated
    flags = {name: getattr(locked, name) for name in needs.COLUMNS}
    changes: dict[str, Any] = {**flags, "items_done": 0, "scored_at": None, "edits": locked.edits + 1}
    audit.transition(ORDER, locked, to="in_analysis", actor=actor, reason=reason, **changes)
    facts = {"order": str(locked.pk), "of": str(of.pk)}
    audit.record(actor=actor, action="run.created", obj=run, organisation_id=run.organisation_id, reason=reason, facts=facts)
    tickets.send_on_commit(cutting.cut(run, cutting.AHEAD))
    hints.changed(locked)
    return run
