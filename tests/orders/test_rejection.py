"""Rejecting a specimen: its order is put aside loudly, and who ordered is told."""

from typing import Any

import pytest
from django.db import DatabaseError, transaction

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue.models import Run
from foundation.errors import NotPermitted
from notices.models import Delivery, Notice, Receipt
from notices.wording import words
from orders import arrivals, rejection, rejection_notices, services, urgency
from orders.errors import InvalidOrder
from orders.models import Order, Specimen
from orders.rejection import Rejected
from outbox.models import Message
from reports import document
from reports import services as reports
from tests.factories import make_actor, make_laboratory, make_order, make_organisation, make_ready_intake, make_user
from tests.orders.test_reception import accessioner, receive
from tests.reports import cases

pytestmark = pytest.mark.django_db


def reject(order: Order, reason: str = "specimen.haemolysed", words: str = "") -> Order:
    rejection.reject(order=order, reason=reason, words=words, actor=accessioner(order))
    return Order.objects.select_related("specimen").get(pk=order.pk)


def unsettled() -> Order:
    """An order that waits for an identity check, not accepted."""
    first = make_order()
    patient = cases.patient(mrn=first.stated_mrn, family_name="Other")
    return make_order(intake=make_ready_intake(organisation=first.ordering_organisation), patient=patient)


def test_the_order_of_a_rejected_specimen_is_rejected_where_it_was_not_accepted() -> None:
    order = unsettled()
    assert order.state == "submitted"
    order = reject(order)
    assert (order.state, order.ended_at is None, order.specimen.state) == ("rejected", False, "rejected")


@pytest.mark.parametrize("priority", ["routine", "stat"])
def test_an_accepted_order_goes_on_hold_with_its_work_and_needs_a_person(priority: str) -> None:
    order = reject(make_order(priority=priority))
    kept = (order.state, order.hold_reason, order.attention)
    assert kept == ("accepted", "hold.specimen", "specimen.rejected")
    assert Run.objects.get(order_id=order.pk).held


def test_a_person_can_let_it_go_on_and_the_flag_stays() -> None:
    order = reject(make_order())
    urgency.release(order=order, actor=make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory))
    order.refresh_from_db()
    assert (order.hold_reason, order.attention) == ("", "specimen.rejected")


def test_who_ordered_is_told_without_clinical_data_and_until_somebody_there_has_read_it() -> None:
    order = reject(make_order(intake=make_ready_intake(organisation=make_organisation())))
    message = Message.objects.get(topic="specimen.rejected")
    told = {"format": 1, "order": str(order.pk), "specimen": str(order.specimen_id), "reason": "specimen.haemolysed", "version": 2}
    assert (message.payload, message.organisation_id) == (told, order.ordering_organisation_id)
    night = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert arrivals.rejections_to_read(night) == [order] and arrivals.rejections_to_read(accessioner(order)) == []
    rejection.read(order=order, actor=night)
    rejection.read(order=order, actor=night)
    assert arrivals.rejections_to_read(night) == []
    assert Event.objects.filter(object_id=str(order.pk), action="order.rejection_read").count() == 1


def test_whoever_orders_there_is_told_on_his_page_and_who_placed_it_by_mail() -> None:
    hospital = make_organisation()
    placed_by = make_user(role=Role.REQUESTER, organisation=hospital)
    colleague = make_user(role=Role.REQUESTER, organisation=hospital)
    order = reject(make_order(intake=make_ready_intake(organisation=hospital), actor=actor_for(placed_by)))
    message = Message.objects.get(topic="specimen.rejected")
    rejection_notices.deliver(message.payload)
    rejection_notices.deliver(message.payload)
    assert set(Receipt.objects.values_list("user_id", flat=True)) == {placed_by.pk, colleague.pk}
    assert list(Delivery.objects.values_list("channel", "user_id")) == [("email", placed_by.pk)]
    notice = Notice.objects.get()
    assert (notice.order_id, notice.facts) == (order.pk, {"reason": "specimen.haemolysed"})
    assert "was rejected" in words(notice.kind, notice.facts)


def test_a_stranger_and_the_laboratory_cannot_say_that_it_was_read() -> None:
    order = reject(make_order(intake=make_ready_intake(organisation=make_organisation())))
    for organisation in (order.performing_laboratory, make_laboratory()):
        with pytest.raises(NotPermitted):
            rejection.read(order=order, actor=make_actor(role=Role.ACCESSIONER, organisation=organisation))


@pytest.mark.parametrize(
    ("reason", "field"), [("", "reason"), ("hold.specimen", "reason"), ("specimen.rejected", "reason"), ("specimen.other", "words")]
)
def test_a_rejection_has_a_coded_reason_and_another_one_its_words(reason: str, field: str) -> None:
    with pytest.raises(InvalidOrder) as refused:
        reject(make_order(), reason)
    assert list(refused.value.fields) == [field]


def test_a_specimen_is_rejected_once_and_not_of_a_closed_order() -> None:
    order = reject(make_order())
    with pytest.raises(Rejected):
        reject(order, "specimen.leaked")
    closed = make_order()
    services.cancel(actor=accessioner(closed), order=closed, reason="placed twice", expected_edits=1)
    with pytest.raises(urgency.Closed):
        reject(closed)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ACCESSIONER])
def test_nobody_but_an_accessioner_of_the_laboratory_rejects(role: Role) -> None:
    order = make_order()
    with pytest.raises(NotPermitted):
        actor = make_actor(role=role, organisation=order.performing_laboratory)
        rejection.reject(order=order, reason="specimen.leaked", words="", actor=actor)


def test_the_database_takes_no_rejection_back_and_changes_none() -> None:
    order = reject(make_order())
    for columns in ({"state": "received"}, {"rejected_reason": "specimen.leaked"}, {"rejected_words": "no"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Specimen.objects.filter(pk=order.specimen_id).update(**columns)


def drafted(order: Order) -> Any:
    actor = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    return document.compose(reports.show(actor=actor, order=order).version)  # type: ignore[arg-type]


def test_condition_and_rejection_stand_on_the_report() -> None:
    order = cases.scored_order()
    receive(order, condition="haemolysed", words="slightly")
    facts = {fact.label: fact.value for group in drafted(order).groups for fact in group.facts}
    assert facts["Condition"] == "Haemolysed: slightly" and "Rejected" not in facts
    said = drafted(reject(order, "specimen.too-old", "four days"))
    facts = {fact.label: fact.value for group in said.groups for fact in group.facts}
    assert "The specimen is too old. four days" in facts["Rejected"] and "THE SPECIMEN WAS REJECTED" in said.banners
