"""A part that waits for a person, on the engine page: who sees it, who lets it go on, and what he has to say."""

import pytest
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job
from tests.dashboard.people import Ward, logged_in, read
from tests.orders.test_attention_notices import waiting

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def job(ward: Ward) -> Job:
    """Three workers died with it."""
    waiting(ward.order(priority="stat"))
    return Job.objects.get()


def test_an_operator_reads_why_it_waits_and_lets_it_go_on_with_a_reason(ward: Ward, job: Job) -> None:
    client, address = logged_in(Role.OPERATOR, ward.laboratory), reverse("engine-part", args=[job.pk])
    assert address in read(client, "engine") and "Three workers stopped while computing this part" in read(client, "engine")
    silent = client.post(address, {"reason": "  "})
    assert silent.status_code == 409 and "Say what was found and done" in silent.content.decode()
    assert Job.objects.get().attention
    said = client.post(address, {"reason": "new memory"}, follow=True).content.decode()
    assert f"Job {job.pk} goes on" in said and "Waiting for a person" not in said
    assert Event.objects.get(action="job.resumed").reason == "new memory" and not Job.objects.get().attention
    assert client.post(address, {"reason": "again"}).status_code == 404  # it waits no more


def test_nobody_else_lets_it_go_on(ward: Ward, job: Job) -> None:
    address = reverse("engine-part", args=[job.pk])
    for client in (
        ward.analyst(),
        logged_in(Role.MODEL_STEWARD, ward.laboratory),
        logged_in(Role.OPERATOR, Ward().laboratory),
    ):
        assert address not in read(client, "engine")
        assert client.get(address).status_code == client.post(address, {"reason": "mine"}).status_code == 404
    assert Job.objects.get().attention
