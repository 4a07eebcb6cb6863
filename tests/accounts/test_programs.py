"""A program works as long as somebody answers for it; when nobody does, it stops and administrators see why."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts import programs
from accounts.models import Membership, User
from accounts.roles import Role
from accounts.services import actor_for
from foundation import clock
from foundation.errors import NotPermitted, Refused
from tests.factories import make_token, make_user
from tests.interop.caller import Caller, Site

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(settings):
    settings.STATIC_ROOT = None
    return Site()


@pytest.fixture
def keeper(site):
    return make_user(role=Role.REQUESTER, organisation=site.hospital, name="Ana Keeper")


@pytest.fixture
def account(site, keeper):
    named = {"email": "lis@lab.example", "name": "LIS", "organisation": site.hospital}
    return programs.make(actor=actor_for(keeper), responsible=keeper, **named)


def _close(person):
    User.objects.filter(pk=person.pk).update(is_active=False)


def _end(person):
    Membership.objects.filter(user=person).update(ended_at=clock.now())


@pytest.mark.parametrize(("leave", "why"), [(_close, "is closed"), (_end, "has no role")])
def test_it_stops_with_who_answered_for_it_on_every_interface_and_says_why(site, account, keeper, leave, why):
    caller = Caller(make_token(account, "place", "view_order"))
    assert site.order(caller)["state"] == "accepted"
    leave(keeper)
    refused = caller.get("/orders")
    assert (refused.status_code, refused.json()["code"]) == (403, "api.nobody-answers")
    assert "who answers for it has left" in refused.json()["detail"]
    fhir = caller.client.get("/fhir/ServiceRequest", headers={"Authorization": f"Bearer {caller.token}"})
    assert fhir.status_code == 403 and "who answers for it has left" in fhir.content.decode()
    client = Client()
    client.force_login(make_user(role=Role.ADMINISTRATOR, organisation=site.hospital))
    page = client.get(reverse("programs")).content.decode()
    assert "stands still" in page and why in page and "Ana Keeper" in page


def test_an_administrator_has_somebody_else_answer_and_it_works_again(site, account, keeper):
    caller = Caller(make_token(account, "view_order"))
    _close(keeper)
    heir = make_user(role=Role.ANALYST, organisation=site.hospital)
    client = Client()
    client.force_login(make_user(role=Role.ADMINISTRATOR, organisation=site.hospital))
    assert client.post(reverse("programs"), {"account": account.pk, "to": keeper.pk}).status_code == 409
    assert caller.get("/orders").status_code == 403
    page = client.post(reverse("programs"), {"account": account.pk, "to": heir.pk}, follow=True).content.decode()
    assert "● works" in page and caller.get("/orders").status_code == 200


def test_who_administers_another_organisation_sees_and_hands_over_nothing(site, account):
    stranger = make_user(role=Role.ADMINISTRATOR, organisation=site.laboratory)
    client = Client()
    client.force_login(stranger)
    assert "LIS" not in client.get(reverse("programs")).content.decode()
    assert client.post(reverse("programs"), {"account": account.pk, "to": stranger.pk}).status_code == 404
    with pytest.raises(NotPermitted):
        programs.hand_over(actor=actor_for(stranger), account=account, to=stranger)


def test_nobody_of_elsewhere_answers_for_it(site, account):
    administrator, stranger = (make_user(role=Role.ADMINISTRATOR, organisation=one) for one in (site.hospital, site.laboratory))
    with pytest.raises(Refused, match="has no role in"):
        programs.hand_over(actor=actor_for(administrator), account=account, to=stranger)
    with pytest.raises(Refused, match="has no role in"):
        programs.make(actor=actor_for(stranger), email="b@lab.example", name="B", organisation=site.hospital, responsible=stranger)
