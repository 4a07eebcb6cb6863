"""What an order does with the facts that come up from the engine queue, inside their transaction.

Only its own scoring moves it, the first time and when a reviewer has it repeated: another run on the same items, to compare or to
look back, is a run beside it."""

from typing import TYPE_CHECKING

from audit import services as audit
from engine_queue.models import Run, RunKind
from foundation import clock
from foundation.actor import process
from foundation.reasons import Reason
from orders import hints, needs
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
    if fact.run.order_id is None:
        return
    order = Order.objects.get(pk=fact.run.order_id)
    if order.state not in Order.OPEN or not _own(fact.run, order):
        return
    _STEPS[fact.kind](order, fact)
    hints.changed(order)


def _own(run: Run, order: Order) -> bool:
    """Whether the order waits for this run: its first one, or the repetition of a scored one that its reviewer asked for."""
    if run.kind == RunKind.CLINICAL:
        return True
    repeats = run.kind == RunKind.REPEAT and order.state == "in_analysis"
    return repeats and run.supersedes is not None and run.supersedes.state == "scored"


def _started(order: Order, fact: "Fact") -> None:
    if order.state == "accepted":
        audit.transition(ORDER, order, to="in_analysis", actor=process(fact.worker), started_at=clock.now())


def _results(order: Order, fact: "Fact") -> None:
    order.items_done += len(fact.results)
    order.version += 1
    changes = ["items_done", "version"]
    if any(result.failure for result in fact.results):
        needs.add(order, str(Reason.RESULT_ITEM_FAILED))
        changes += needs.COLUMNS
    order.save(update_fields=changes)


def _scored(order: Order, fact: "Fact") -> None:
    audit.transition(ORDER, order, to="awaiting_review", actor=process(fact.worker), scored_at=clock.now(), risk="")


def _attention(order: Order, fact: "Fact") -> None:
    needs.add(order, fact.reason, front=True)
    order.version += 1
    order.save(update_fields=[*needs.COLUMNS, "version"])
    audit.record(
        actor=process(fact.worker),
        action="order.attention",
        obj=order,
        organisation_id=order.performing_laboratory_id,
        reason=fact.reason,
    )


def _resumed(order: Order, fact: "Fact") -> None:
    """A person has seen to a job: its flag goes, unless another job still waits for the same; other flags stay."""
    if fact.reason not in needs.codes(order) or fact.run.jobs.filter(attention=fact.reason).exists():
        return
    needs.settle(order, fact.reason)
    order.version += 1
    order.save(update_fields=[*needs.COLUMNS, "version"])


def _moved(order: Order, fact: "Fact") -> None:
    """Nothing of the order itself has changed; its pages have something new to say."""


_STEPS = {
    "started": _started, "results": _results, "scored": _scored, "attention": _attention, "resumed": _resumed, "moved": _moved,
}  # fmt: skip
