"""Rows of the worklist: what is said beside an order, and the one thing to do next."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.models import User
from accounts.roles import Verb
from dashboard import (
    delay_page,
    engine_line,
    filter_choices,
    identity_page,
    less_urgent,
    outlook,
    saved_filters,
    short_names,
    stages,
)
from dashboard.context import zone_of
from dashboard.less_urgent import News
from dashboard.saved_filters import Kept
from dashboard.wording import WAYS_OUT, between, flag, parked
from foundation.actor import Actor
from interop.fhir import finding
from interop.models import FhirOrder
from orders import arrivals, conflicts, keys, needs, several, worklist
from orders.asked_filters import Asked
from orders.estimates import Finish
from orders.holding import may_answer
from orders.keys import Cursor
from orders.machines import IN_ERROR
from orders.models import HoldRequest, Order
from orders.worklist import Chip, Finished, Worklist
from reports import critical, delivered
from reports.models import Critical, ReportDelivery

EMPTY = {
    "open": "No open orders.",
    "mine": "No open order is assigned to you. Take one from “Unassigned”.",
    "unassigned": "Every open order has somebody who works on it.",
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
    "mine": "Mine: open orders that are assigned to you, so yours to work on.",
    "risk": "At risk: the later end of the estimate passes the time that results are due, or nothing can be foreseen and most of"
    " the time is used up.",
    "late": "Late: not scored, and past the time that results or report were due.",
    "unsigned": "Report overdue: scored, but not issued past the time its report was due.",
}
PLACED = "Mine: open orders that you placed."  # of somebody who works on none
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
    works_here: bool = False  # this person may take it, and is told whose work it is
    leads_to: str = "order"  # name of the address of what is to be done next

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
    asked: Asked
    to_answer: list[HoldRequest]  # holds that this person can confirm or decline
    rejected: list[Order]  # their specimen was, and nobody has read it where they were ordered
    less_urgent: list[News]  # orders of this person that others made less urgent, which he has not read
    saved: list[Kept]
    works: bool  # this person works on orders: he can choose several and do something to them
    exports: bool
    problems: list[str]  # what of the address was ignored
    unplaced: list[FhirOrder]  # came by FHIR, and are no orders yet
    initials: bool  # of patients' names no more than that
    last_stat: Finished | None  # read where no STAT order is open
    to_call: list[Critical]  # critical results that nobody has read back
    undelivered: list[ReportDelivery]  # reports that did not reach their recipient

    @property
    def oldest_stat(self) -> datetime | None:
        """When the STAT order was placed that has waited for its results the longest; None where none that could go on waits."""
        waiting = (row.order for row in self.stat if row.order.scored_at is None and not row.order.hold_reason)
        return min((order.placed_at for order in waiting), default=None)

    @property
    def chips(self) -> list[Chip]:
        """The filters with their counts. What came by FHIR, and a report that reached nobody, need attention as orders do."""
        others = sum(one.state == "parked" for one in self.unplaced) + len(self.undelivered)
        return [replace(chip, count=chip.count + others) if chip.key == "attention" else chip for chip in self.worklist.chips]

    @property
    def about(self) -> str:
        """What the chosen filter lists; empty where its name says it."""
        chip = self.worklist.filters.chip
        return PLACED if chip == "mine" and not self.works else ABOUT.get(chip, "")

    @property
    def empty(self) -> str:
        """What is said where no order is listed."""
        filters = self.worklist.filters
        if filters.search:
            return f"No order matches “{filters.search}”."
        if filters.chip == "mine" and not self.works and not self.asked.chosen:
            return "No order that you placed is open."
        return "No order matches these filters." if self.asked.chosen else EMPTY[filters.chip]

    @property
    def stat_matching(self) -> int:
        """How many of the STAT orders above the filters or the search would find too; 0 while nothing is filtered."""
        return self.worklist.stat_matching if self.asked.narrowed else 0

    @property
    def last(self) -> int:
        """Number of the last row on this page."""
        return self.worklist.first + len(self.rows) - 1

    @property
    def matching(self) -> int:
        """Orders that can be chosen all together: on all pages, and the STAT orders among them."""
        return self.worklist.matching + self.worklist.stat_matching

    @property
    def too_many(self) -> bool:
        """Whether they are more than can be changed at once."""
        return self.worklist.more or self.matching > several.MOST


def page(user: User, actor: Actor, query: Mapping[str, str]) -> Page:
    """One page of rows. Open STAT orders are always all there, whatever the filters, the search or the page say."""
    asked = filter_choices.read(actor, query, zone_of(user))
    place, problems = _place(query.get("at", ""), asked)
    found = worklist.worklist(actor, asked.filters, cursor=place)
    rows = _rows(actor, found)
    return Page(
        stat=[rows[order.pk] for order in sorted(found.stat, key=_soonest)],
        rows=[rows[order.pk] for order in found.rows],
        worklist=found,
        asked=asked,
        to_answer=[asked for asked in found.asked.values() if may_answer(actor, asked.order, asked)],
        rejected=arrivals.rejections_to_read(actor),
        less_urgent=less_urgent.of_person(actor),
        saved=saved_filters.kept(actor, current=asked.query),
        works=bool(actor.organisations(Verb.ASSIGN)),
        exports=bool(actor.organisations(Verb.EXPORT) & actor.organisations(Verb.VIEW_ORDER)),
        problems=[*asked.problems, *problems],
        unplaced=finding.unsettled(actor),
        initials=short_names.shown(user),
        last_stat=None if found.stat else worklist.last_stat(actor),
        to_call=critical.open_ones(actor),
        undelivered=delivered.failed(actor),
    )


def _place(at: str, asked: Asked) -> tuple[Cursor | None, list[str]]:
    if not at:
        return None, []
    found = keys.cursor(at, worklist.sorted_by(asked.filters))
    return found, [] if found else ["The address named a page that this list does not have: it is shown from its beginning."]


def _rows(actor: Actor, found: Worklist) -> dict[UUID, Row]:
    listed = [*found.stat, *found.rows]
    places, finishes = engine_line.places(listed, short=True), outlook.of_rows(listed)
    told = delay_page.of_rows(listed)
    return {
        order.pk: replace(
            row(order, actor, places.get(order.pk, ""), finishes.get(order.pk)),
            asked=found.asked.get(order.pk),
            late=order.pk in told,
            delay_told=told.get(order.pk),
            works_here=actor.may(Verb.ASSIGN, order.performing_laboratory_id),
        )
        for order in listed
    }


def _soonest(order: Order) -> float:
    due = stages.due(order)
    return due.timestamp() if due else float("inf")


def row(order: Order, actor: Actor, place: str, finish: Finish | None) -> Row:
    """What is said of one order."""
    reviews = order.state.startswith("awaiting") and actor.may(Verb.VIEW_UNRELEASED, order.performing_laboratory_id)
    progress, note = _progress(order)
    decides = order.attention == "identity.mismatch" and order.ended_at is None and identity_page.may_decide(actor, order)
    settles = conflicts.waits(order) and conflicts.may_settle(actor, order)
    action, leads_to = (
        ("Decide who it is", "order-identity")
        if decides
        else ("Decide which it is", "order-conflict")
        if settles
        else _reading(order, actor)
        if reviews
        else ("Open", "order")
    )
    said: dict[str, Any] = {"progress": progress, "note": note, "place": place, "finish": finish}
    return Row(order, action, primary=reviews or decides or settles, leads_to=leads_to, **said)


def _reading(order: Order, actor: Actor) -> tuple[str, str]:
    """The next step of somebody who may read the scores, and where it is done."""
    laboratory = order.performing_laboratory_id
    if order.state == "awaiting_review" and actor.may(Verb.REVIEW, laboratory):
        return "Review", "order-review"
    if order.state == "awaiting_second_review" and any(actor.may(verb, laboratory) for verb in (Verb.SIGN_1, Verb.SIGN_2)):
        return "Sign", "order-sign"
    return "See results", "order"


def _progress(order: Order) -> tuple[str, str]:
    if order.attention and order.ended_at is None:
        return "▲ needs a person", "; ".join(_need(code) for code in needs.codes(order))
    if order.state == IN_ERROR:
        return "not valid", "entered in error: wrong patient"
    if order.hold_reason and order.ended_at is None:
        return "", flag(order.hold_reason)
    if order.state == "in_analysis":
        return "", ""
    if order.scored_at is not None:
        return "unsigned draft report" if order.ended_at is None else stages.scored_in(order), _exceptions(order)
    return ("waiting for the engine" if order.state == "accepted" else ""), _exceptions(order)


def _need(code: str) -> str:
    """What a person is needed for, in a few words, and the way out where there is one alone."""
    what = re.split(r"[.:;] ?", flag(code), maxsplit=1)[0]
    return f"{what}: {WAYS_OUT[code]}" if parked(code) else what


def _exceptions(order: Order) -> str:
    said: Sequence[str] = [
        f"{int(order.intake.counts.get(key, 0)):,} {key}" for key in ("parked", "refused") if order.intake.counts.get(key)
    ]
    return ", ".join(said)
