"""Sockets: who may listen, what they hear, when they are closed."""

import asyncio
import json

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, User
from config.asgi import application
from dashboard import consumers, following
from orders import hints
from questions import hints as question_hints
from tests.dashboard.people import Ward
from tests.factories import make_laboratory, make_user
from tests.questions.people import Bench

ORDER, WORKLIST = "/live/orders/{}", "/live/worklist"


@pytest.fixture
def ward(clone_db, valkey_url):
    """Committed rows: sockets read on connections of their own."""
    return Ward()


def session(role, organisation):
    client = Client()
    client.force_login(make_user(role=role, organisation=organisation))
    return client


class Line(ApplicationCommunicator):
    """One browser's end of a socket."""

    def __init__(self, path, client=None, origin="http://testserver"):
        cookie = f"sessionid={client.cookies['sessionid'].value}" if client and "sessionid" in client.cookies else ""
        headers = [(b"origin", origin.encode()), (b"host", b"testserver"), (b"cookie", cookie.encode())]
        super().__init__(
            application, {"type": "websocket", "path": path, "headers": headers, "query_string": b"", "subprotocols": []}
        )

    async def opens(self):
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output(timeout=10))["type"] == "websocket.accept"

    async def says(self, text=None, octets=None):
        await self.send_input({"type": "websocket.receive", "text": text, "bytes": octets})

    async def hears(self):
        said = await self.receive_output(timeout=10)
        return said.get("code") if said["type"] == "websocket.close" else said["text"]

    async def leaves(self):
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(timeout=10)


def heard(path, client, act=None, messages=1):
    """Connect, act, and return what the socket says: messages, or a close code; False when it was refused."""

    async def listen():
        line = Line(path, client)
        if not await line.opens():
            return False
        try:
            if act is not None:
                await database_sync_to_async(act)()
            return [await line.hears() for _ in range(messages)]
        finally:
            await line.leaves()
            await get_channel_layer().flush()

    said = asyncio.run(listen())
    return said and [json.loads(one) if isinstance(one, str) else one for one in said]


def say(order, version=9):
    order.version = version
    return lambda: hints.changed(order)


@pytest.mark.parametrize("path", [ORDER, WORKLIST])
def test_a_colleague_hears_that_an_order_moved_and_nothing_else(ward, path):
    order = ward.order()
    [said] = heard(path.format(order.pk), session("analyst", ward.laboratory), say(order))
    assert said == {"order": str(order.pk), "version": 9}


@pytest.mark.parametrize("role", ["director", "analyst", "requester", "administrator"])
def test_a_stranger_is_refused_at_the_socket_of_an_order(ward, role):
    assert heard(ORDER.format(ward.order().pk), session(role, make_laboratory())) is False


def test_who_may_see_a_question_hears_that_it_moved_and_nobody_else_does(ward):
    question = Bench(takes=False).asks()
    path, laboratory = f"/live/questions/{question.pk}", question.organisation
    [said] = heard(path, session("reviewer", laboratory), lambda: question_hints.changed(question))
    assert said == {"order": str(question.pk), "version": 0}
    strangers = [session("director", make_laboratory()), session("requester", laboratory), Client()]
    assert [heard(path, one) for one in strangers] == [False] * 3


@pytest.mark.parametrize("path", [ORDER, WORKLIST])
def test_nobody_is_refused(ward, path):
    assert heard(path.format(ward.order().pk), Client()) is False


def test_a_role_without_orders_is_refused_at_the_worklist(ward):
    assert heard(WORKLIST, session("operator", ward.laboratory)) is False


def test_a_page_of_another_site_is_refused(ward):
    client = session("analyst", ward.laboratory)
    assert asyncio.run(Line(WORKLIST, client, origin="https://example.org").opens()) is False


def test_worklists_of_other_organisations_are_not_heard(ward):
    order, other = ward.order(), Ward().order()

    def both():
        say(other)()
        say(order)()

    [said] = heard(WORKLIST, session("analyst", ward.laboratory), both)
    assert said["order"] == str(order.pk)


def test_hints_that_come_close_together_are_gathered_and_the_newest_version_is_told(ward):
    order, versions = ward.order(), range(10, 60)

    def many():
        for version in versions:
            say(order, version)()

    async def listen():
        line, said = Line(ORDER.format(order.pk), client), []
        await line.opens()
        await database_sync_to_async(many)()
        while versions[-1] not in said:
            said.append(json.loads(await line.hears())["version"])
        await line.leaves()
        return said

    client = session("analyst", ward.laboratory)
    said = asyncio.run(listen())
    assert said == sorted(said) and len(said) < len(versions)


def test_logging_out_closes_the_socket(ward):
    client = session("analyst", ward.laboratory)
    assert heard(WORKLIST, client, lambda: client.post(reverse("logout"))) == [consumers.REFUSED]


def end_membership(ward):
    Membership.objects.filter(organisation=ward.laboratory).update(ended_at=ward.test.created_at)


def deactivate(ward):
    User.objects.update(is_active=False)


def change_password(ward):
    for user in User.objects.all():
        user.set_password("another passphrase")
        user.save()


@pytest.mark.parametrize("deed", [end_membership, deactivate, change_password])
def test_a_right_that_was_lost_is_noticed_before_the_next_message(ward, deed):
    order, client = ward.order(), session("analyst", ward.laboratory)

    def lose():
        deed(ward)
        say(order)()

    assert heard(ORDER.format(order.pk), client, lose) == [consumers.REFUSED]


def test_a_right_that_was_lost_is_noticed_without_any_message(ward, monkeypatch):
    monkeypatch.setattr(consumers, "RECHECK", 0.05)
    assert heard(WORKLIST, session("analyst", ward.laboratory), lambda: end_membership(ward)) == [consumers.REFUSED]


def test_the_look_at_the_session_comes_within_a_minute():
    assert consumers.RECHECK < 60


def test_a_session_that_has_expired_may_not_listen(ward):
    client = session("analyst", ward.laboratory)
    assert following.groups_for(client.session.session_key, None)
    stored = client.session
    stored.set_expiry(-1)
    stored.save()
    assert following.groups_for(stored.session_key, None) == frozenset()


def test_a_socket_answers_whether_anybody_is_there_and_ignores_the_rest(ward):
    async def ask():
        line = Line(WORKLIST, client)
        await line.opens()
        for text, octets in (('{"type": "hint", "order": "x"}', None), (None, b"\xff"), ("ping", None)):
            await line.says(text, octets)
        answer = await line.hears()
        await line.leaves()
        return answer

    client = session("analyst", ward.laboratory)
    assert asyncio.run(ask()) == "pong"
