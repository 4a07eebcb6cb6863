"""Logging in and out, and what a page says when something is not as it should be."""

import pytest
from django.test import Client
from django.urls import reverse
from structlog.testing import capture_logs

from tests.dashboard.people import logged_in
from tests.factories import PASSWORD, make_laboratory, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return make_user(role="analyst", organisation=make_laboratory())


def log_in(email, password, client=None, **more):
    return (client or Client()).post(reverse("login"), {"username": email, "password": password, **more})


def test_address_and_password_lead_to_the_worklist(user):
    assert log_in(user.email.upper(), PASSWORD)["Location"] == reverse("worklist")


def test_the_page_that_was_asked_for_follows(user):
    assert log_in(user.email, PASSWORD, next="/engine/")["Location"] == "/engine/"


def test_nobody_is_led_to_another_site(user):
    assert log_in(user.email, PASSWORD, next="https://example.org/")["Location"] == reverse("worklist")


@pytest.mark.parametrize(("email", "password"), [("", PASSWORD), ("nobody@example.org", PASSWORD), ("", "wrong"), ("x\0y", "x")])
def test_a_wrong_login_is_said_in_words_that_betray_nothing(user, email, password):
    response = log_in(email or (user.email if password == "wrong" else ""), password)
    assert response.status_code == 200 and "You are not logged in." in response.content.decode()


def test_a_deactivated_account_does_not_log_in(user):
    user.is_active = False
    user.save()
    assert "You are not logged in." in log_in(user.email, PASSWORD).content.decode()


def test_password_managers_and_pasting_are_welcome():
    page = Client().get(reverse("login")).content.decode()
    assert 'autocomplete="username"' in page and 'autocomplete="current-password"' in page and "onpaste" not in page


def test_a_form_without_its_token_is_refused_in_words(user):
    client = Client(enforce_csrf_checks=True)
    response = log_in(user.email, PASSWORD, client)
    assert response.status_code == 403 and "The form has expired" in response.content.decode()


def test_an_address_that_does_not_exist_says_what_to_do():
    client = logged_in("analyst", make_laboratory())
    response = client.get("/orders/nothing")
    assert response.status_code == 404 and "There is nothing here" in response.content.decode()


def test_a_page_outside_ones_role_says_what_to_do():
    response = logged_in("requester", make_laboratory()).get(reverse("engine"))
    assert response.status_code == 403 and "You may not see this page" in response.content.decode()


def test_a_failure_of_ours_is_said_in_words_and_without_details_under_a_reference_that_the_log_has(settings):
    settings.ROOT_URLCONF = "tests.dashboard.broken"
    client = logged_in("analyst", make_laboratory())
    client.raise_request_exception = False
    with capture_logs() as logged:
        response = client.get("/broken")
    page = response.content.decode()
    assert [line["reference"] in page for line in logged if line["event"] == "page.failed"] == [True]
    assert response.status_code == 500 and "Something went wrong on our side" in page and "Traceback" not in page


def test_an_order_whose_form_has_expired_is_told_the_way_back_to_what_was_typed():
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(role="requester", organisation=make_laboratory()))
    response = client.post(reverse("order-new"), {"do": "place"})
    page = response.content.decode()
    assert response.status_code == 403 and f'href="{reverse("order-new")}">Open the order form again' in page


def test_who_comes_from_an_ended_session_reads_so():
    page = Client().get(reverse("login"), {"ended": "yes", "next": "/"}).content.decode()
    assert "Your session has ended." in page and "Your session has ended." not in Client().get(reverse("login")).content.decode()
