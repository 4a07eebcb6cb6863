"""How much a program may send: a file with an open token, little without one, and the refusal is a problem, not a page."""

import asyncio
import json

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings

from config import bodies
from interop.problems import MEDIA_TYPE
from tests.dashboard.test_robustness import MEGABYTE
from tests.interop.caller import BASE, Site


async def taker(scope, receive, send):
    """An application that reads the whole body and is content; as Django, it answers nothing to a sender who has left."""
    message = {"more_body": True}
    while message.get("more_body", False):
        message = await receive()
    if message["type"] == "http.disconnect":
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


def reply(path, body, *headers):
    """(status, code of the problem) of the limiter before that application."""

    async def ask():
        line = ApplicationCommunicator(bodies.LimitedBody(taker), {"type": "http", "path": path, "headers": headers})
        await line.send_input({"type": "http.request", "body": body})
        start, said = await line.receive_output(timeout=10), await line.receive_output(timeout=10)
        await line.wait(timeout=10)
        return start, json.loads(said["body"])

    start, said = asyncio.run(ask())
    assert start["status"] == 200 or dict(start["headers"])[b"content-type"] == MEDIA_TYPE.encode()
    return start["status"], said.get("code", "")


@pytest.fixture
def bearer(clone_db):
    return b"authorization", f"Bearer {Site().caller().token}".encode()


def test_a_file_may_come_with_an_open_token_and_little_without(bearer):
    large = b"x" * 2 * MEGABYTE
    assert reply(f"{BASE}/intakes", large, bearer) == (200, "")
    assert reply(f"{BASE}/intakes", large, (b"authorization", b"Bearer made-up")) == (413, "api.too-large")
    assert reply(f"{BASE}/orders", large, bearer) == (413, "api.too-large")


def test_a_file_over_the_limit_is_refused_by_its_announced_length(bearer):
    announced = (b"content-length", str(settings.UPLOAD_LIMIT + 16 * MEGABYTE).encode())
    assert reply(f"{BASE}/intakes", b"", bearer, announced) == (413, "api.too-large")


def test_too_many_files_at_once_is_a_problem_too():
    assert json.loads(bodies._problem(429))["code"] == "api.too-many-uploads"
