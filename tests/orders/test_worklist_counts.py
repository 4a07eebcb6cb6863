"""Chips count what their lists list, whatever happened to the orders before."""

import random
from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.db import connection

from accounts.models import User
from accounts.roles import Role
from accounts.services import actor_for
from foundation import clock
from orders import worklist
from orders.filters import LABELS, Filters
from orders.machines import ORDER
from orders.models import Order
from tests.dashboard.people import Ward
from tests.dashboard.test_worklist_cost import copies
from tests.factories import make_user
from tests.forging import forging

pytestmark = pytest.mark.django_db
TRANSITIONS, LOOKS = 1000, 20


def flags(drawn: random.Random, order: Order, people: list[User]) -> dict[str, object]:
    """Some other thing about an order: what people, clocks and workers change beside its state."""
    now = clock.now()
    past = [now + timedelta(hours=drawn.choice((-5, 5))) for _ in range(2)]
    open_work = order.ended_at is None and order.scored_at is None
    return drawn.choice(
        [
            {"assignee": drawn.choice([None, *people])},
            {"hold_reason": drawn.choice(["", "hold.input"]), "hold_agreed": True},
            {"attention": drawn.choice(["", "result.item-failed"])},
            {"result_due": past[0], "report_due": drawn.choice([None, past[1]])},
            {"clock_stopped_at": drawn.choice([None, now - timedelta(hours=9)])},
            {"risk": drawn.choice(["", "at_risk", "late"]) if open_work else ""},
            {"priority": (name := drawn.choice(["stat", "asap", "routine"])), "rank": {"stat": 0, "asap": 1, "routine": 3}[name],
             "stat_reason": "sepsis", "hold_agreed": True},
        ]
    )  # fmt: skip


def step(drawn: random.Random, order: Order) -> dict[str, object]:
    """A move along an edge of the machine, with the times that come with it. The database refuses any other."""
    to = drawn.choice(sorted(ORDER.edges[order.state]))
    now = clock.now()
    if to in ("cancelled", "rejected", "reported", "entered_in_error"):
        return {"state": to, "ended_at": now, "risk": ""}
    scored = to == "awaiting_review" and order.scored_at is None
    return {"state": to, **({"risk": "", "scored_at": now} if scored else {})}


def test_chip_counts_are_list_counts_after_a_thousand_random_transitions() -> None:
    ward, drawn = Ward(), random.Random(26)
    copies(ward.order(), 1600)  # a hundred of them open
    people = [make_user(role=Role.ANALYST, organisation=ward.laboratory) for _ in range(3)]
    requester = make_user(role=Role.REQUESTER, organisation=ward.hospital)
    rows = list(Order.objects.filter(ended_at=None).order_by("pk"))
    for number in range(TRANSITIONS):
        order = drawn.choice(rows)
        change = step(drawn, order) if order.state in ORDER.edges and drawn.random() < 0.4 else flags(drawn, order, people)
        for name, value in change.items():
            setattr(order, name, value)
        with forging() if change.get("state") in (None, "reported") else nullcontext():  # a report would have to be issued
            order.save(update_fields=list(change))
        if number % (TRANSITIONS // LOOKS) == 0:
            look(drawn.choice([*people, requester]))
    for user in (*people, requester):
        look(user)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone()[0].startswith("helicase_app")


def look(user: User) -> None:
    """Every chip of this person's worklist against the list behind it, its STAT orders with it."""
    actor = actor_for(user)
    counts = {chip.key: chip for chip in worklist.worklist(actor).chips}
    for key in LABELS:
        if key in counts and not counts[key].more:
            listed = worklist.selected(actor, Filters(chip=key), most=2000)
            assert len(listed) == len({order.pk for order in listed}) == counts[key].count, key
