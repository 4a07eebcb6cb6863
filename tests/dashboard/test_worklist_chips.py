"""Each chip of the worklist lists what its name says, and nothing else."""

import pytest

from accounts.roles import Role
from accounts.services import actor_for
from orders import assignment, urgency
from orders.models import Order
from orders.worklist import worklist
from tests.dashboard.people import Ward, logged_in, read
from tests.dashboard.test_worklist import accessions
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db


def test_mine_unassigned_awaiting_review_held_and_needing_a_person() -> None:
    ward = Ward()
    user = make_user(role=Role.ANALYST, organisation=ward.laboratory)
    other = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    plain, mine, theirs, scored, held = ward.order(), ward.order(), ward.order(), ward.scored(), ward.order()
    asked = ward.order(priority="stat", stat_reason="")
    assignment.take(order=mine, actor=actor_for(user), expected_edits=1)
    assignment.take(order=theirs, actor=other, expected_edits=1)
    urgency.hold(order=held, reason="hold.input", actor=other)
    client = logged_in(Role.ANALYST, ward.laboratory)
    client.force_login(user)
    expected = {
        "mine": {mine}, "unassigned": {plain, scored, held, asked}, "review": {scored}, "hold": {held}, "attention": {asked},
    }  # fmt: skip
    for chip, orders in expected.items():
        found = set(accessions(read(client, "worklist", chip=chip))) - {asked.accession}  # STAT stands above every list
        assert found == {order.accession for order in orders - {asked}}, chip
    counts = {chip.key: chip.count for chip in worklist(actor_for(user)).chips}
    assert {chip: counts[chip] for chip in expected} == {chip: len(orders) for chip, orders in expected.items()}
    assert Order.objects.count() == 6
