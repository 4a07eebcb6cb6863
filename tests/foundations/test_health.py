"""Liveness and readiness answer soon, whoever asks and whatever is broken."""

import socket

import pytest
from django.urls import reverse

from config import health
from tests.dashboard.people import logged_in
from tests.factories import make_laboratory


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "queries"), [("health-live", 0), ("health-ready", 1)])
def test_a_session_is_not_looked_up(name, queries, valkey_url, django_assert_num_queries):
    client = logged_in("analyst", make_laboratory())
    with django_assert_num_queries(queries):
        assert client.get(reverse(name)).status_code == 200


@pytest.mark.django_db
def test_a_page_for_somebody_is_still_refused_to_nobody(client):
    assert client.get(reverse("worklist")).status_code == 302


@pytest.mark.django_db
def test_a_broker_that_takes_the_call_and_says_nothing_is_asked_once_and_is_not_ready(client, settings):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        answer = client.get(reverse("health-ready"))
        silent.settimeout(0)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert (answer.status_code, answer.json()) == (503, {"database": True, "broker": False})


def test_both_questions_together_take_about_a_second_at_most():
    assert 2 * health.PATIENCE_S <= 1
