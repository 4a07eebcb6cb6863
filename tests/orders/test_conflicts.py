"""A STAT order is called the same as another only where nothing is lost by it, and by who may see both."""

import pytest

from accounts.roles import Role
from foundation.actor import Actor
from foundation.errors import Refused
from orders import conflicts, services
from orders.models import Order
from tests.factories import make_actor, make_order, make_organisation, make_ready_intake
from tests.orders.people import accessioner
from tests.reports import cases

pytestmark = pytest.mark.django_db


def pair(*, apart: bool = False, **changes: object) -> tuple[Order, Order]:
    """Two STAT orders under one number; `apart`: of two laboratories."""
    standing = make_order(
        intake=make_ready_intake(organisation=make_organisation()), placer_number="W-1", priority="stat", patient=cases.patient()
    )
    test = {} if apart else {"test_version": standing.test_version}
    intake = make_ready_intake(organisation=standing.ordering_organisation, **test)
    waiting = make_order(intake=intake, placer_number="W-1", priority="stat", patient=cases.patient(**changes))
    assert (waiting.state, waiting.conflicts_with) == ("submitted", standing)
    return standing, waiting


def same(order: Order, actor: Actor) -> Order:
    conflicts.same(order=order, words="sent twice", actor=actor, expected_edits=order.edits)
    order.refresh_from_db()
    return order


def refused(order: Order, actor: Actor) -> Refused:
    with pytest.raises(Refused) as error:
        same(order, actor)
    order.refresh_from_db()
    assert order.state == "submitted"
    return error.value


def test_an_order_of_another_patient_is_not_the_same() -> None:
    _, waiting = pair(mrn="MRN-78")
    assert refused(waiting, accessioner(waiting)).code == "order.conflict-patient"


def test_an_order_that_ended_without_a_result_takes_no_other_with_it() -> None:
    standing, waiting = pair()
    services.cancel(actor=accessioner(standing), order=standing, reason="placed twice", expected_edits=standing.edits)
    assert refused(waiting, accessioner(waiting)).code == "order.conflict-ended"


def test_a_laboratory_calls_nothing_the_same_that_it_may_not_see_and_learns_no_accession() -> None:
    standing, waiting = pair(apart=True)
    director = make_actor(role=Role.DIRECTOR, organisation=waiting.performing_laboratory)
    error = refused(waiting, director)
    assert error.code == "order.conflict-unseen" and standing.accession not in str(error)
    waiting = same(waiting, accessioner(waiting))
    assert (waiting.state, waiting.cancelled_reason) == ("rejected", "The same as an order at another laboratory: sent twice")
