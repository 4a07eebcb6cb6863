"""A STAT order that came without a reason runs as STAT, and somebody is asked why: who may say it, where, and what is left then."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine_queue import settling
from engine_queue.models import Job, Run
from orders import urgency
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_actor, make_laboratory, make_user
from tests.orders.people import contradicting

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def order(ward: Ward) -> Order:
    """As it comes by API and FHIR."""
    return ward.order(priority="stat", stat_reason="")


def say(client: Client, order: Order, why: str, **said: object):
    data = {"do": "why", "why": why, "edits": Order.objects.get(pk=order.pk).edits, **said}
    return client.post(reverse("order-urgency", args=[order.pk]), data, follow=True)


def test_the_requester_is_asked_on_list_and_page_and_his_answer_ends_the_question(ward: Ward, order: Order) -> None:
    client, rank = ward.requester(), Job.objects.get().rank
    assert "STAT without a reason" in read(client, "worklist", chip="attention")
    assert "Say why it is STAT…" in read(client, "order", order.pk)
    page = say(client, order, "septic shock").content.decode()
    assert "It is said why order" in page and "septic shock" in page and "Reason for STAT given" in page
    assert "without a reason" not in page and "Say why it is STAT…" not in page
    order.refresh_from_db()
    assert (order.stat_reason, order.attention, order.edits, Job.objects.get().rank) == ("septic shock", "", 2, rank)
    event = Event.objects.get(action="order.stat_reason_given")
    assert "septic" not in f"{event.reason}{event.facts}"
    assert say(client, order, "another").status_code == 409 and Order.objects.get().stat_reason == "septic shock"


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.OPERATOR, Role.AUDITOR, Role.MODEL_STEWARD, Role.ADMINISTRATOR])
def test_who_may_not_order_stat_says_nothing_for_it(ward: Ward, order: Order, role: Role) -> None:
    client = logged_in(role, ward.laboratory)
    assert "Say why it is STAT" not in read(client, "order", order.pk)
    assert say(client, order, "because").status_code == (409 if role == Role.REVIEWER else 404)
    assert Order.objects.get().stat_reason == ""


def test_a_stranger_finds_no_order_and_a_stale_or_empty_answer_changes_nothing(ward: Ward, order: Order) -> None:
    assert say(logged_in(Role.DIRECTOR, make_laboratory()), order, "because").status_code == 404
    for why, said, words in (
        (" ", {}, "Say why the order is STAT."),
        ("shock", {"edits": "99"}, "has changed"),
        ("x" * 301, {}, "300"),
    ):
        answer = say(ward.analyst(), order, why, **said)
        assert answer.status_code == 409 and words in answer.content.decode() and why.strip() in answer.content.decode()
    plain = ward.order(priority="asap")
    assert say(ward.analyst(), plain, "because").status_code == 409
    assert not Order.objects.exclude(stat_reason="").exists()


def test_an_answer_settles_no_other_question(ward: Ward) -> None:
    first = ward.order()
    order = contradicting(first, priority="stat", stat_reason="")
    urgency.give_stat_reason(order=order, reason="shock", actor=make_actor(role=Role.ACCESSIONER, organisation=ward.hospital))
    order.refresh_from_db()
    assert (order.state, order.attention, order.stat_reason) == ("submitted", "identity.mismatch", "shock")


@pytest.mark.parametrize(("stat_reason", "specimen", "left"), [
    ("", "received", "stat.reason-missing"), ("shock", "rejected", "specimen.rejected"), ("shock", "received", ""),
])  # fmt: skip
def test_a_part_that_goes_on_leaves_the_flag_that_still_stands(ward: Ward, stat_reason: str, specimen: str, left: str) -> None:
    """Three workers died with it: their flag took the place of another one, which nobody had settled."""
    order = ward.order(priority="stat", stat_reason=stat_reason)
    clerk, director = (logged_in(role, ward.laboratory) for role in (Role.ACCESSIONER, Role.DIRECTOR))
    if specimen == "rejected":
        clerk.post(reverse("specimen", args=[order.pk]), {"do": "reject", "reason": "specimen.leaked"})
        director.post(reverse("order-urgency", args=[order.pk]), {"do": "release", "edits": Order.objects.get().edits})
    Job.objects.update(state="running", lease_owner="engine-1", attempt=1)
    run, job = Run.objects.get(), Job.objects.get()
    settling.give_back(run, job, worker="engine-1", reason="job.worker-died", attention="job.worker-died")
    assert Order.objects.get().attention == "job.worker-died"
    operator = make_user(role=Role.OPERATOR, organisation=ward.laboratory).email
    call_command("resume_job", str(job.pk), "--by", operator, "--reason", "new memory", stdout=StringIO())
    assert Order.objects.get().attention == left
