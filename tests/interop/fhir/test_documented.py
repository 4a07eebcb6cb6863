"""The examples of docs/fhir.md, sent over HTTP to a server that runs."""

import base64
import json
import re
import urllib.request
from collections.abc import Iterator
from threading import Thread
from urllib.parse import quote
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.db import connections

from interop.models import FhirOrder
from orders.models import Order
from tests.dashboard.desk import vcf
from tests.factories import make_token
from tests.interop.caller import Site
from tests.interop.fhir.sender import FHIR, Sender
from tests.interop.fhir.shapes import require_valid
from tests.services import ROOT

EXAMPLE = re.compile(r"<!-- (GET|POST) (\S+) (\d+) -->\n```json\n(.*?)```", re.DOTALL)


@pytest.fixture
def server(clone_db) -> Iterator[str]:
    """Django behind a socket."""
    made = make_server("127.0.0.1", 0, WSGIHandler(), handler_class=Quiet)

    def serve() -> None:
        try:
            made.serve_forever(poll_interval=0.02)
        finally:
            connections.close_all()  # of this thread: nobody else can

    thread = Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    thread.join()
    made.server_close()


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


def send(address: str, method: str, said: object, token: str) -> tuple[int, dict]:
    data = json.dumps(said).encode() if method == "POST" else None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": FHIR}
    asked = urllib.request.Request(quote(address, safe="/?=:&"), data, headers, method=method)  # noqa: S310 -- our own server
    with urllib.request.urlopen(asked) as answer:  # noqa: S310
        return answer.status, json.loads(answer.read())


def test_every_example_does_what_is_written(server):
    cache.clear()
    site = Site()
    user = site.user()
    token, file = make_token(user), base64.b64encode(vcf(300).encode()).decode()
    page = (ROOT / "docs" / "fhir.md").read_text()
    page = page.replace("THE-TEST", site.test.definition.code).replace("THE-FILE-IN-BASE64", file)
    found = EXAMPLE.findall(page)
    assert len(found) == 2
    for method, path, status, text in found:
        said = json.loads(text)
        got, told = send(server + path, method, said, token)
        require_valid(told)
        assert got == int(status) and (method == "POST" or said.items() <= told.items())
    Sender(site, user).check()
    assert Order.objects.get().stat_reason == "suspected sepsis" and FhirOrder.objects.get().state == "placed"
