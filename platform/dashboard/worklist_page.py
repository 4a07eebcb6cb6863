"""Rows of the worklist: what is said beside an order, and the one thing to do next."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from accounts.roles import Verb
from dashboard import delay_page, engine_line, less_urgent, outlook, stages
from dashboard.less_urgent import News
from dashboard.wording import WAY_OUT, between, flag, parked
from foundation.actor import Actor
from orders import arrivals, selectors
from orders.estimates import Finish
from orders.holding import may_answer
from orders.models import HoldRequest, Order
from orders.selectors import Worklist

EMPTY = {
    "open": "No open orders.",
    "mine": "Nothing here is yours: you have placed no open order.",
    "running": "Nothing is being scored at this moment.",
    "review": "Nothing is waiting for a reviewer.",
    "risk": "No order is at risk of being late.",
    "late": "Nothing is late.",
    "unsigned": "No scored order is past the time its report was due.",
    "attention": "Nothing needs a person's attention.",
    "hold": "No order is on hold.",
    "done": "No order has been closed yet.",
}
# What a filter lists, where its name alone leaves a doubt.
ABOUT = {
    "risk": "At risk: the later end of the estimate passes the time that results are due, or nothing can be foreseen and most of"
    " the time is used up.",
    "late": "Late: not scored, and past the time that results or report were due.",
    "unsigned": "Report overdue: scored, but unsigned past the time its report was due. Review and release are not built in this"
    " version, so every scored order comes here in the end.",
}
HOT = frozenset({"risk", "late", "attention"})  # chips whose count is red when it is not zero


@dataclass(frozen=True)
class Row:
    """One order in the list."""

    order: Order
    action: str
    primary: bool
    progress: str  # words in the progress column
    note: str  # small words under them
    place: str  # beside "Queued"
    finish: Finish | None = None
    asked: HoldRequest | None = None  # that it waits
    late: bool = False
    delay_told: datetime | None = None  # when somebody was last told of its delay

    @property
    def style(self) -> str:
        """How exactly the ends of the estimate are worth being said."""
        return between(self.finish.low, self.finish.high) if self.finish else ""


@dataclass(frozen=True)
class Page:
    """The whole list as shown."""

    stat: list[Row]
    rows: list[Row]
    worklist: Worklist
    to_answer: list[HoldRequest]  # holds that this person can confirm or decline
    rejected: list[Order]  # their specimen was, and nobody has read it where they were ordered
    less_urgent: list[News]  # orders of this person that others made less urgent, which he has not read
    empty: str

    @property
    def about(self) -> str:
        """What the chosen filter lists; empty where its name says it."""
        return ABOUT.get(self.worklist.chip, "")

    @property
    def stat_matching(self) -> int:
        """How many of the STAT orders above the filter or the search would find too; 0 while nothing is filtered."""
        return self.worklist.stat_matching if self.worklist.chip != "open" or self.worklist.search else 0

    @property
    def first(self) -> int:
        """Number of the first row on this page."""
        return (self.worklist.page - 1) * selectors.PAGE + 1

    @property
    def last(self) -> int:
        """Number of the last row on this page."""
        return self.first + len(self.rows) - 1


def page(actor: Actor, *, chip: str, search: str, number: int) -> Page:
    """One page of rows. Open STAT orders are always all there, whatever the filter, the search or the page says."""
    found = selectors.worklist(actor, chip=chip, search=search, page=number)
    listed = [*found.stat, *found.rows]
    places, finishes = engine_line.places(listed, short=True), outlook.of_rows(listed)
    told = delay_page.of_rows(listed)
    rows = {
        order.pk: replace(
            row(order, actor, places.get(order.pk, ""), finishes.get(order.pk)),
            asked=found.asked.get(order.pk),
            late=order.pk in told,
            delay_told=told.get(order.pk),
        )
        for order in listed
    }
    return Page(
        stat=[rows[order.pk] for order in sorted(found.stat, key=_soonest)],
        rows=[rows[order.pk] for order in found.rows],
        worklist=found,
        to_answer=[asked for asked in found.asked.values() if may_answer(actor, asked.order, asked)],
        rejected=arrivals.rejections_to_read(actor),
        less_urgent=less_urgent.of_person(actor),
        empty=f"No order matches “{found.search}”." if found.search else EMPTY[found.chip],
    )


def _soonest(order: Order) -> float:
    due = stages.due(order)
    return due.timestamp() if due else float("inf")


def row(order: Order, actor: Actor, place: str, finish: Finish | None) -> Row:
    """What is said of one order."""
    reviews = order.state.startswith("awaiting") and actor.may(Verb.VIEW_UNRELEASED, order.performing_laboratory_id)
    progress, note = _progress(order)
    return Row(
        order, "See results" if reviews else "Open", primary=reviews, progress=progress, note=note, place=place, finish=finish
    )


def _progress(order: Order) -> tuple[str, str]:
    if order.attention and order.ended_at is None:
        what = re.split(r"[.:;] ?", flag(order.attention), maxsplit=1)[0]
        return "▲ needs a person", f"{what}: {WAY_OUT}" if parked(order.attention) else what
    if order.hold_reason and order.ended_at is None:
        return "", flag(order.hold_reason)
    if order.state == "in_analysis":
        return "", ""
    if order.scored_at is not None:
        return "unsigned draft report" if order.ended_at is None else stages.scored_in(order), _exceptions(order)
    return ("waiting for the engine" if order.state == "accepted" else ""), _exceptions(order)


def _exceptions(order: Order) -> str:
    said: Sequence[str] = [
        f"{int(order.intake.counts.get(key, 0)):,} {key}" for key in ("parked", "refused") if order.intake.counts.get(key)
    ]
    return ", ".join(said)
