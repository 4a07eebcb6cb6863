"""The page of API tokens: made, shown once, ended; and the page of the API."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts import programs, tokens
from accounts.models import ApiToken
from accounts.roles import FOR_PROGRAMS, Role
from accounts.services import actor_for
from dashboard.programs import WORDS
from foundation import reasons
from tests.factories import make_laboratory, make_token, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def laboratory():
    return make_laboratory()


def at_the_page(user):
    client = Client()
    client.force_login(user)
    return client


def wanted(user, **changes):
    return {"name": "LIS", "account": str(user.pk), "scopes": ["place", "view_order"], "organisation": "", "days": "30", **changes}


def test_a_token_is_shown_once_and_works(laboratory):
    user = make_user(role=Role.ANALYST, organisation=laboratory)
    client = at_the_page(user)
    made = client.post(reverse("api-tokens"), wanted(user, organisation=str(laboratory.pk)))
    text = re.search(r'value="(hct_[^"]+)"', made.content.decode()).group(1)
    assert made.status_code == 201 and "no-store" in made["Cache-Control"]
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {text}"}).json()["scopes"] == ["place", "view_order"]
    again = client.get(reverse("api-tokens")).content.decode()
    assert text not in again and f"hct_{ApiToken.objects.get().prefix}_…" in again


def test_what_is_missing_is_said_at_its_field_and_nothing_is_made(laboratory):
    user = make_user(role=Role.REQUESTER, organisation=laboratory)
    response = at_the_page(user).post(reverse("api-tokens"), wanted(user, name="", scopes=[]))
    page = response.content.decode()
    assert response.status_code == 422 and "Say what the token is for." in page and "Choose at least one thing." in page
    other = make_user(role=Role.ANALYST, organisation=laboratory)
    for odd in ({"scopes": ["sign_1"]}, {"days": "4000"}, {"account": str(other.pk)}):
        assert at_the_page(user).post(reverse("api-tokens"), wanted(user, **odd)).status_code == 422
    assert not ApiToken.objects.exists()


def test_only_who_keeps_a_token_ends_it(laboratory):
    user, colleague = (make_user(role=Role.ANALYST, organisation=laboratory) for _ in range(2))
    make_token(user)
    token = user.tokens.get()
    address = reverse("api-token-revoke", args=[token.pk])
    assert at_the_page(colleague).post(address).status_code == 404
    assert token.name not in at_the_page(colleague).get(reverse("api-tokens")).content.decode()
    page = at_the_page(user).post(address, follow=True).content.decode()
    assert "opens nothing any more" in page and ApiToken.objects.get().revoked_by == user


def test_who_answers_for_a_service_account_keeps_its_tokens(laboratory):
    keeper = make_user(role=Role.ANALYST, organisation=laboratory)
    made = programs.make(actor=actor_for(keeper), email="lis@lab.example", name="LIS", organisation=laboratory, responsible=keeper)
    client = at_the_page(keeper)
    assert client.post(reverse("api-tokens"), wanted(made)).status_code == 201
    refused = client.post(reverse("api-tokens"), wanted(made, scopes=["view_unreleased"]))
    assert refused.status_code == 422 and "can give no token for this" in refused.content.decode()
    assert [token.owner for token in tokens.kept_by(actor_for(keeper))] == [made]


def test_who_does_nothing_that_programs_do_is_told_so(laboratory):
    page = at_the_page(make_user(role=Role.AUDITOR, organisation=laboratory)).get(reverse("api-tokens")).content.decode()
    assert "nothing that a program does here" in page and "Make the token" not in page


def test_every_right_of_programs_has_its_words():
    assert set(WORDS) == FOR_PROGRAMS


def test_the_page_of_the_api_is_for_everybody_and_explains_every_code(client):
    page = client.get(reverse("api")).content.decode()
    assert all(f'id="{reason}"' in page for reason in reasons.WORDS) and 'href="/api/v1/openapi.json"' in page
