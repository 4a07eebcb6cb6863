"""What an order does with the facts that come up from the engine queue, inside their transaction.

Only its own scoring moves it: a later run on the same items, to compare or to look back, is a run beside it."""

from typing import TYPE_CHECKING

from audit import services as audit
from engine_queue.models import Run, RunKind
from foundation import clock
from foundation.actor import process
from foundation.reasons import Reason
from orders import hints, urgency
from orders.machines import ORDER
from orders.models import Order

if TYPE_CHECKING:
    from engine_queue.outcomes import Fact


def lock_order(run: Run) -> int | None:
    """Lock the run's order, first of all locks; returns the version that this transaction's results will carry."""
    if run.order_id is None:
        return None
    return Order.objects.select_for_update().get(pk=run.order_id).version + 1


def apply(fact: "Fact") -> None:
    """Move the order along: started, results in, all scored, or a person is needed."""
    if fact.run.order_id is None or fact.run.kind != RunKind.CLINICAL:
        return
    order = Order.objects.get(pk=fact.run.order_id)
    if order.state not in Order.OPEN:
        return
    _STEPS[fact.kind](order, fact)
    hints.changed(order)


def _started(order: Order, fact: "Fact") -> None:
    if order.state == "accepted":
        audit.transition(ORDER, order, to="in_analysis", actor=process(fact.worker), started_at=clock.now())


def _results(order: Order, fact: "Fact") -> None:
    order.items_done += len(fact.results)
    order.version += 1
    changes = ["items_done", "version"]
    if not order.attention and any(result.failure for result in fact.results):
        order.attention = str(Reason.RESULT_ITEM_FAILED)
        changes.append("attention")
    order.save(update_fields=changes)


def _scored(order: Order, fact: "Fact") -> None:
    audit.transition(ORDER, order, to="awaiting_review", actor=process(fact.worker), scored_at=clock.now(), risk="")


def _attention(order: Order, fact: "Fact") -> None:
    order.attention = fact.reason
    order.version += 1
    order.save(update_fields=["attention", "version"])
    audit.record(
        actor=process(fact.worker),
        action="order.attention",
        obj=order,
        organisation_id=order.performing_laboratory_id,
        reason=fact.reason,
    )


def _resumed(order: Order, fact: "Fact") -> None:
    """A person has seen to a job: the order's flag goes, unless it speaks of something else or another job still waits."""
    if order.attention != fact.reason or fact.run.jobs.exclude(attention="").exists():
        return
    order.attention = _still_open(order, fact.run)
    order.version += 1
    order.save(update_fields=["attention", "version"])


def _still_open(order: Order, run: Run) -> str:
    """What else of the order needs a person: a flag that the job's had taken the place of."""
    if order.specimen.state == "rejected":
        return str(Reason.SPECIMEN_REJECTED)
    if urgency.lacks_reason(order):
        return str(Reason.STAT_REASON_MISSING)
    return str(Reason.RESULT_ITEM_FAILED) if run.results.exclude(failure="").exists() else ""


def _moved(order: Order, fact: "Fact") -> None:
    """Nothing of the order itself has changed; its pages have something new to say."""


_STEPS = {
    "started": _started, "results": _results, "scored": _scored, "attention": _attention, "resumed": _resumed, "moved": _moved,
}  # fmt: skip
