"""A reception or a rejection by mistake is taken back, with a reason; what it said stays, and the order goes on."""

import pytest
from django.db import DatabaseError, transaction

from accounts.models import User
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue.models import Run
from foundation.errors import NotPermitted, Refused, Stale
from notices.models import Notice
from orders import identity_decisions, needs, rejection_notices, specimen_corrections, urgency
from orders.errors import InvalidOrder
from orders.models import Order, Specimen, SpecimenCorrection
from outbox.models import Message
from tests.factories import make_actor, make_order, make_ready_intake
from tests.orders.people import check_of, seen
from tests.orders.test_reception import accessioner, receive
from tests.orders.test_rejection import reject, unsettled
from tests.reports import cases

pytestmark = pytest.mark.django_db


def take_back(order: Order, words: str = "the wrong tube", version: int = 0) -> Order:
    specimen = Specimen.objects.get(pk=order.specimen_id)
    wanted = {"words": words, "expected_version": version or specimen.version}
    specimen_corrections.take_back(order=order, actor=accessioner(order), **wanted)
    return Order.objects.select_related("specimen").get(pk=order.pk)


def test_a_rejection_is_taken_back_the_order_goes_on_and_what_was_said_is_kept_and_told() -> None:
    order = make_order(priority="stat")
    receive(order, condition="warm")
    rejected = reject(order, "specimen.leaked", "all of it").specimen
    order = take_back(order)
    assert (order.specimen.state, order.specimen.condition, order.specimen.rejected_reason) == ("received", "warm", "")
    assert (order.hold_reason, needs.codes(order), Run.objects.get(order_id=order.pk).held) == ("", [], False)
    kept = specimen_corrections.taken_back(order)[0]
    assert (kept.what, kept.rejected_reason, kept.rejected_words, kept.rejected_at, kept.words) == (
        "rejection", "specimen.leaked", "all of it", rejected.rejected_at, "the wrong tube",
    )  # fmt: skip
    assert Event.objects.filter(action="order.rejection_taken_back", object_id=str(order.pk)).exists()
    reject(order, "specimen.leaked")
    for message in Message.objects.filter(topic="specimen.rejected"):
        rejection_notices.deliver(message.payload)
    kinds = Notice.objects.filter(order_id=order.pk).values_list("kind", flat=True)
    assert sorted(kinds) == ["order.rejection_taken_back", *["order.specimen_rejected"] * 2]


def test_a_reception_is_taken_back_and_the_specimen_can_be_received_again() -> None:
    order = make_order()
    receive(order, condition="warm")
    order = take_back(order)
    assert (order.specimen.state, order.specimen.received_at, order.specimen.condition) == ("expected", None, "")
    receive(order, condition="acceptable")
    assert [one.condition for one in specimen_corrections.taken_back(order)] == ["warm"]


def test_a_hold_that_somebody_else_had_begun_stays_and_so_does_what_else_needs_a_person() -> None:
    order = make_order(priority="stat", stat_reason="")
    who = User.objects.get(pk=order.placed_by_id)
    urgency.hold(order=order, reason="hold.specimen", actor=actor_for(who))
    assert needs.codes(reject(order)) == ["specimen.rejected", "stat.reason-missing"]
    order = take_back(order)
    assert (order.hold_reason, needs.codes(order)) == ("hold.specimen", ["stat.reason-missing"])


def test_what_cannot_be_taken_back_is_said() -> None:
    order = make_order()
    with pytest.raises(Refused, match="nothing to take back"):
        take_back(order)
    closed = reject(unsettled())
    with pytest.raises(Refused, match="nothing to take back"):
        take_back(closed)
    receive(order)
    with pytest.raises(InvalidOrder):
        take_back(order, words=" ")
    with pytest.raises(Stale):
        take_back(order, version=1)
    analyst = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    with pytest.raises(NotPermitted):
        specimen_corrections.take_back(order=order, words="no", actor=analyst, expected_version=2)
    assert not SpecimenCorrection.objects.exists()


def test_the_database_lets_nothing_go_without_the_row_that_keeps_it() -> None:
    order = reject(make_order())
    emptied = {"rejected_reason": "", "rejected_words": "", "rejected_at": None, "rejected_by": None}
    with pytest.raises(DatabaseError), transaction.atomic():
        Specimen.objects.filter(pk=order.specimen_id).update(state="expected", **emptied)
    take_back(order)
    with pytest.raises(DatabaseError), transaction.atomic():
        SpecimenCorrection.objects.update(words="another")


def test_an_order_that_was_recollected_ends_with_the_new_one() -> None:
    first = cases.scored_order()
    first = reject(first)
    actor = make_actor(role=Role.REQUESTER, organisation=first.ordering_organisation)
    intake = make_ready_intake(organisation=first.ordering_organisation, test_version=first.test_version)
    patient = cases.patient(mrn=first.stated_mrn, family_name=first.patient.family_name, given_name=first.patient.given_name)
    second = make_order(intake=intake, repeats=first.pk, patient=patient, actor=actor)
    first.refresh_from_db()
    assert (first.state, second.state) == ("cancelled", "accepted")
    assert first.cancelled_reason == f"Ordered again on a new specimen, as order {second.accession}."
    assert Event.objects.get(action="order.recollected", object_id=str(first.pk)).facts == {"by": str(second.pk)}
    assert not first.holds.filter(until=None).exists()


def test_an_order_goes_on_until_the_one_that_recollects_it_is_accepted() -> None:
    first = reject(make_order(priority="stat"))
    intake = make_ready_intake(organisation=first.ordering_organisation, test_version=first.test_version)
    second = make_order(intake=intake, repeats=first.pk, patient=cases.patient(mrn=first.stated_mrn, family_name="Other"))
    first.refresh_from_db()
    assert (first.state, second.attention) == ("accepted", "identity.mismatch")
    check = check_of(second)
    clerk = make_actor(role=Role.ACCESSIONER, organisation=first.performing_laboratory)
    identity_decisions.statement_wrong(check=check, words="asked the ward", actor=clerk, expected=seen(check))
    first.refresh_from_db()
    assert (first.state, Event.objects.get(action="order.recollected").facts) == ("cancelled", {"by": str(second.pk)})
