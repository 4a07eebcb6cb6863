"""Where an order stands, as five steps and a few words."""

from dataclasses import dataclass
from datetime import datetime

from dashboard.wording import counted, duration
from orders.models import Order

LABELS = ("Received", "Accepted", "Scoring", "Review", "Report")
# state → (steps done, index of the step that is going on, words)
_STANDS: dict[str, tuple[int, int | None, str]] = {
    "draft": (0, 0, "Draft"),
    "submitted": (1, 1, "Received"),
    "accepted": (2, None, "Queued"),
    "in_analysis": (2, 2, "Scoring"),
    "awaiting_review": (3, 3, "Awaiting review"),
    "awaiting_second_review": (4, 4, "Second signature"),
    "reported": (5, None, "Reported"),
    "rejected": (1, None, "Rejected"),
    "cancelled": (1, None, "Cancelled"),
    "entered_in_error": (1, None, "Entered in error"),
}
WORDS = {state: words for state, (_, _, words) in _STANDS.items()}


@dataclass(frozen=True)
class Step:
    """One step; `at` is when it was reached."""

    label: str
    status: str  # done | now | next
    at: datetime | None


@dataclass(frozen=True)
class Stage:
    """Five steps and the words beside them."""

    words: str
    steps: tuple[Step, ...]
    stopped: bool

    @property
    def spoken(self) -> str:
        """The steps for somebody who does not see them."""
        done = sum(step.status == "done" for step in self.steps)
        return f"{self.words}. {done} of {len(self.steps)} steps done"


def stage(order: Order) -> Stage:
    """The stage an order is in."""
    done, current, words = _STANDS[order.state]
    reached = (order.placed_at, order.accepted_at, order.scored_at, None, order.ended_at)
    stopped = order.state in ("rejected", "cancelled", "entered_in_error")
    if stopped:
        reached = (*reached[:4], None)
        done = sum(moment is not None for moment in reached[:3])
    steps = tuple(
        Step(label, "done" if n < done else "now" if n == current else "next", reached[n] if n < done else None)
        for n, label in enumerate(LABELS)
    )
    return Stage(_with_count(order, words), steps, stopped)


def _with_count(order: Order, words: str) -> str:
    if order.hold_reason and order.state in ("accepted", "in_analysis"):
        return "On hold" if order.state == "accepted" else f"On hold · {order.items_done:,} of {order.items_total:,}"
    if order.hold_reason and order.ended_at is None:
        return f"{words}, on hold"
    if order.state == "in_analysis":
        return f"{words} · {order.items_done:,} of {order.items_total:,}"
    if order.state == "submitted" and order.attention:
        return "Parked for a person"
    return words


def due(order: Order) -> datetime | None:
    """The due time that counts now: results until they are there, then the report."""
    if order.ended_at is not None:
        return None
    return order.result_due if order.scored_at is None else order.report_due


def scored_in(order: Order) -> str:
    """How long the scoring took; empty while it goes on."""
    if order.scored_at is None or order.started_at is None:
        return ""
    return f"scored in {duration((order.scored_at - order.started_at).total_seconds())}"


def amount(order: Order) -> str:
    """How much is scored: "212 variants"."""
    noun = "variant" if order.intake.kind in ("", "vcf") else "read" if order.intake.kind == "fastq" else "sequence"
    return counted(order.items_total, noun)
