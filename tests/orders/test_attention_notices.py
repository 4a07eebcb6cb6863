"""A part of an order that waits for a person is somebody's: one is named, and everybody is told who can let it go on."""

import pytest

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue import settling
from engine_queue.models import Job, Run
from foundation import clock
from notices.models import Delivery, Notice, Receipt
from orders import assignment, attention_notices
from orders.models import Order
from outbox.models import Message
from tests.dashboard.people import Ward, logged_in, read
from tests.engine_queue.rows import returned, taken
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def waiting(order: Order) -> list[dict[str, object]]:
    """The third worker died with its part: what was handed to the outbox."""
    Job.objects.filter(run__order_id=order.pk).update(deaths=2)
    run, job = Run.objects.get(order_id=order.pk), Job.objects.get(run__order_id=order.pk)
    taken()
    job.refresh_from_db()
    settling.give_back(run, job, worker="sweeper", reason="gone", died=True, attention="job.worker-died")
    return list(Message.objects.filter(topic=attention_notices.TOPIC).values_list("payload", flat=True))


def test_after_three_deaths_a_person_is_named_and_told_once_with_every_operator() -> None:
    ward = Ward()
    order = ward.order(priority="stat")
    first, second = (make_user(role=Role.OPERATOR, organisation=ward.laboratory, name=name) for name in ("Ola Op", "Pim Op"))
    make_user(role=Role.OPERATOR, organisation=Ward().laboratory)
    (payload,) = waiting(order)
    for _ in range(2):
        attention_notices.deliver(payload)
    assert set(Receipt.objects.values_list("user_id", flat=True)) == {first.pk, second.pk}
    assert Notice.objects.get().facts == {"reason": "job.worker-died", "person": "Ola Op"}
    assert Delivery.objects.get().user_id == first.pk  # by e-mail, who is named alone
    assert Event.objects.filter(action="order.person_named", facts__assignee=str(first.pk)).count() == 1
    page = read(ward.analyst(), "order", order.pk)
    assert "Named to see to it" in page and "Ola Op, and every operator is told" in page
    client = logged_in(Role.OPERATOR, ward.laboratory)
    client.force_login(second)
    assert "a part of it waits for a person; Ola Op is named to see to it" in read(client, "notifications")


def test_whose_work_the_order_is_is_named_first() -> None:
    ward = Ward()
    order = ward.order()
    mine = make_user(role=Role.ANALYST, organisation=ward.laboratory, name="Zoe Analyst")
    make_user(role=Role.OPERATOR, organisation=ward.laboratory, name="Ola Op")
    assignment.take(order=order, actor=actor_for(mine), expected_edits=1)
    (payload,) = waiting(order)
    attention_notices.deliver(payload)
    assert Notice.objects.get().facts["person"] == "Zoe Analyst" and Receipt.objects.count() == 2


def test_of_a_closed_order_and_a_part_that_goes_back_by_itself_nobody_hears() -> None:
    ward = Ward()
    order = ward.order()
    make_user(role=Role.OPERATOR, organisation=ward.laboratory)
    settling.settle(returned(taken()))
    assert not Message.objects.filter(topic=attention_notices.TOPIC).exists()
    (payload,) = waiting(order)
    Order.objects.filter(pk=order.pk).update(state="cancelled", ended_at=clock.now())
    attention_notices.deliver(payload)
    assert not Notice.objects.exists()
