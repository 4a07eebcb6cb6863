"""Tokens: made, believed, refused. A token can do what its owner can now, within its scopes, and no more."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client

from accounts import programs, tokens
from accounts.models import ApiToken, Membership
from accounts.roles import NEVER_SERVICE, Role, Verb
from accounts.services import actor_for
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted, Refused
from interop.authentication import TRIES
from tests.factories import PASSWORD, make_laboratory, make_token, make_user
from tests.interop.caller import BASE, Caller

pytestmark = pytest.mark.django_db


def refused(fields, **wanted):
    with pytest.raises(tokens.InvalidToken) as error:
        tokens.create(**wanted)
    return set(error.value.fields) == set(fields)


def test_the_text_is_256_random_bits_kept_as_a_digest_only(site):
    user = site.user()
    token, text = tokens.create(actor=actor_for(user), owner=user, name="LIS", scopes=["place"])
    assert text.startswith(f"hct_{token.prefix}_") and len(text) == len("hct_") + 10 + 1 + 43
    assert text not in str(list(ApiToken.objects.values())) and token.expires_at - token.created_at == timedelta(days=90)
    assert Event.objects.get(action="token.created").facts["scopes"] == ["place"]


def test_what_a_token_cannot_be(site):
    user = site.user()
    plain = {"actor": actor_for(user), "owner": user, "name": "LIS", "scopes": ["place"]}
    assert refused({"name"}, **{**plain, "name": " "})
    assert refused({"days"}, **{**plain, "days": 366})
    assert refused({"scopes"}, **{**plain, "scopes": []})
    assert refused({"scopes"}, **{**plain, "scopes": ["sign_1"]})
    assert refused({"organisation"}, **{**plain, "organisation": make_laboratory()})
    with pytest.raises(NotPermitted):
        tokens.create(**{**plain, "owner": site.user()})


def test_the_database_neither_widens_nor_revives_a_token(site):
    user = site.user()
    token, _ = tokens.create(actor=actor_for(user), owner=user, name="LIS", scopes=["view_order"])
    tokens.revoke(actor=actor_for(user), token=token)
    for change in ("scopes = '{place}'", "expires_at = now() + interval '1 year'", "revoked_at = NULL"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE accounts_apitoken SET {change} WHERE id = %s", [token.pk])  # noqa: S608 -- the changes are above


def test_rights_are_those_of_the_owner_now_within_the_scopes(site):
    user = site.user(Role.ANALYST)
    caller = Caller(make_token(user, "view_order", "promote"))
    assert caller.get("/me").json()["organisations"][0]["verbs"] == ["promote", "view_order"]
    assert caller.get("/tests").json()["code"] == "access.not-permitted"
    Membership.objects.filter(user=user).update(ended_at=clock.now())
    Membership.objects.create(user=user, organisation=site.laboratory, role=Role.REQUESTER, granted_at=clock.now())
    assert caller.get("/me").json()["organisations"][0]["verbs"] == ["view_order"]


def test_a_token_of_one_organisation_reaches_no_other(site):
    user = site.user()
    other = make_laboratory()
    Membership.objects.create(user=user, organisation=other, role=Role.REQUESTER, granted_at=clock.now())
    found = Caller(make_token(user, organisation=other)).get("/me").json()["organisations"]
    assert [one["organisation"]["id"] for one in found] == [str(other.pk)]


@pytest.mark.parametrize("end", ["revoked", "expired", "deactivated"])
def test_a_token_ends_at_once(site, end, monkeypatch):
    user = site.user()
    caller = Caller(make_token(user, "view_order", days=1))
    assert caller.get("/me").status_code == 200
    if end == "revoked":
        tokens.revoke(actor=actor_for(user), token=user.tokens.get())
    elif end == "expired":
        late = clock.now() + timedelta(days=1, seconds=1)
        monkeypatch.setattr(clock, "_source", lambda: late)
    else:
        type(user).objects.filter(pk=user.pk).update(is_active=False)
    answer = caller.get("/me")
    assert answer.status_code == 401 and answer["WWW-Authenticate"].startswith("Bearer")


def test_only_the_header_is_believed(site):
    user = site.user()
    text = make_token(user)
    client = Client()
    client.force_login(user)
    assert client.get(f"{BASE}/me").status_code == 401  # a session is no token, so nothing here can be forged by a page elsewhere
    for query in ({"access_token": text}, {"token": text}, {"Authorization": f"Bearer {text}"}):
        assert client.get(f"{BASE}/me", query).status_code == 401
    for header in (text, f"Basic {text}", f"Bearer {text[:-1]}x", f"Bearer {text}\u00e9", "Bearer", "Bearer hct_\x00"):
        assert client.get(f"{BASE}/me", headers={"Authorization": header}).status_code == 401
    assert client.get(f"{BASE}/me", headers={"Authorization": f"bearer {text}"}).status_code == 200


def test_tries_are_limited_by_address_and_lock_out_no_token_in_use(site):
    good, new = site.caller(), site.caller()
    assert good.get("/me").status_code == 200
    bad = Caller("hct_aaaaaaaaaa_" + "a" * 43)
    assert {bad.get("/me").status_code for _ in range(TRIES)} == {401}
    answer = bad.get("/me")
    assert answer.status_code == 429 and int(answer["Retry-After"]) > 0
    assert (good.get("/me").status_code, new.get("/me").status_code) == (200, 429)


def test_the_last_use_is_kept_coarsely(site, django_assert_num_queries):
    user = site.user()
    caller = Caller(make_token(user, "view_order"))
    caller.get("/me")
    used = user.tokens.get().last_used_at
    caller.get("/me")
    assert used is not None and user.tokens.get().last_used_at == used


class TestServiceAccounts:
    """Programs with a person who answers for them."""

    @pytest.fixture
    def account(self, site):
        keeper = make_user(role=Role.ADMINISTRATOR, organisation=site.hospital)
        made = programs.make(
            actor=actor_for(keeper), email="lis@lab.example", name="LIS", organisation=site.hospital, responsible=keeper
        )
        return made, keeper

    def test_it_never_logs_in_on_a_page(self, account):
        made, _ = account
        made.set_password(PASSWORD)
        made.save()
        client = Client()
        assert not client.login(username=made.email, password=PASSWORD)
        client.force_login(made)
        assert client.get("/").status_code == 302

    def test_who_answers_for_it_keeps_its_tokens_and_it_gets_nothing_a_program_never_does(self, site, account):
        made, keeper = account
        caller = Caller(make_token_by(keeper, made, "place", "view_order"))
        assert site.order(caller)["state"] == "accepted"
        assert not set(tokens.scopes_for(made)) & NEVER_SERVICE
        with pytest.raises(tokens.InvalidToken):
            make_token_by(keeper, made, Verb.SIGN_1)
        with pytest.raises(NotPermitted):
            make_token_by(site.user(), made, "place")

    def test_the_database_knows_people_from_programs(self, site, account):
        made, keeper = account
        for user, role in ((made, Role.ANALYST), (keeper, Role.SERVICE)):
            with pytest.raises(DatabaseError), transaction.atomic():
                Membership.objects.create(user=user, organisation=site.hospital, role=role, granted_at=clock.now())
        with pytest.raises(Refused):
            programs.make(actor=actor_for(keeper), email="b@lab.example", name="B", organisation=site.hospital, responsible=made)

    def test_commands_make_it_and_its_tokens(self, site, capsys):
        keeper = make_user(role=Role.ADMINISTRATOR, organisation=site.hospital)
        named = {"email": "lis@lab.example", "name": "LIS", "organisation": site.hospital.code, "responsible": keeper.email}
        call_command("create_service_account", **named)
        wanted = ["--account", "lis@lab.example", "--by", keeper.email, "--name", "orders"]
        wanted += ["--scope", "place", "--scope", "view_order"]
        call_command("api_token", "create", *wanted)
        text = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("hct_"))
        assert Caller(text).get("/me").json()["name"] == "LIS"
        call_command("api_token", "revoke", text.split("_")[1], "--by", keeper.email)
        call_command("api_token", "list", "--account", "lis@lab.example")
        assert "revoked" in capsys.readouterr().out and Caller(text).get("/me").status_code == 401
        with pytest.raises(CommandError, match="already"):
            call_command("create_service_account", **named)


def make_token_by(person, owner, *scopes):
    return tokens.create(actor=actor_for(person), owner=owner, name="made for a test", scopes=scopes)[1]


def test_a_person_of_the_service_role_from_before_cannot_log_in_either(site):
    legacy = make_user(role=Role.SERVICE, organisation=site.hospital)
    type(legacy).objects.filter(pk=legacy.pk).update(responsible=None)
    assert not Client().login(username=legacy.email, password=PASSWORD)
