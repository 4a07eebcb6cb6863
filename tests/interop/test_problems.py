"""Whatever goes wrong is told as problem details: a code, words, and where. Never a page, never a traceback."""

import json

import pytest
from django.db import OperationalError

from foundation.reasons import WORDS
from interop.problems import MEDIA_TYPE
from orders import selectors
from tests.dashboard.desk import vcf
from tests.interop.caller import BASE

pytestmark = pytest.mark.django_db


def problem(answer, status, code):
    """The body of a problem, which has to be whole."""
    assert answer.status_code == status and answer["Content-Type"] == MEDIA_TYPE, answer.content
    said = json.loads(answer.content)
    assert (said["status"], said["code"], said["type"]) == (status, code, f"/api/#{code}") and said["detail"] and said["title"]
    assert "no-store" in answer["Cache-Control"] and not answer.cookies
    assert code in WORDS, "every code has its words"
    return said


def test_addresses_and_methods_that_are_not_there(site):
    caller = site.caller()
    problem(caller.get("/nothing"), 404, "api.not-found")
    problem(caller.get("/orders/"), 404, "api.not-found")
    problem(caller.client.get("/api/v2/orders"), 404, "api.not-found")
    answer = caller.client.delete(f"{BASE}/orders", headers={"Authorization": f"Bearer {caller.token}"})
    assert set(answer["Allow"].split(", ")) == {"GET", "HEAD", "POST"} and problem(answer, 405, "api.method-not-allowed")
    problem(caller.client.post(f"{BASE}/openapi.json"), 405, "api.method-not-allowed")


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "api.malformed"),
        (b"\xff\xfe", "application/json", 400, "api.malformed"),
        (b'{"priority": "stat", "priority": "routine"}', "application/json", 400, "api.malformed"),
        (b'{"x": NaN}', "application/json", 400, "api.malformed"),
        (b"[" * 100_000, "application/json", 400, "api.malformed"),
        (b"9" * 10_000, "application/json", 400, "api.malformed"),
        (b"[]", "application/json", 422, "api.invalid"),
        (b'"text"', "application/json", 422, "api.invalid"),
        (b"a=b", "application/x-www-form-urlencoded", 415, "api.media-type"),
        (b"<order/>", "application/xml", 415, "api.media-type"),
    ],
)
def test_bodies_that_cannot_be_read(site, body, kind, status, code):
    caller = site.caller()
    headers = {"Authorization": f"Bearer {caller.token}"}
    problem(caller.client.post(f"{BASE}/orders", body, content_type=kind, headers=headers), status, code)


def test_fields_are_named_by_pointer(site):
    caller = site.caller()
    body = site.wanted("nonsense", priority="URGENT!", extra=1)
    body["patient"] = {**body["patient"], "birth_date": 0, "family_name": "Nul\0"}
    said = problem(caller.post("/orders", body), 422, "api.invalid")
    found = {error["pointer"] for error in said["errors"]}
    assert found == {"/intake", "/priority", "/extra", "/patient/birth_date", "/patient/family_name"}


def test_what_the_service_refuses_is_named_by_pointer_too(site):
    caller = site.caller()
    body = site.wanted(site.upload(caller))
    body["patient"] = {**body["patient"], "mrn": " ", "birth_date": "1800-01-01"}
    body["specimen"] = {**body["specimen"], "type": "", "collected_at": "2999-01-01T00:00:00Z"}
    said = problem(caller.post("/orders", body), 422, "order.invalid")
    assert {error["pointer"] for error in said["errors"]} == {
        "/patient/mrn", "/patient/birth_date", "/specimen/type", "/specimen/collected_at",
    }  # fmt: skip


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=9999999999999999999", "limit=x", "after=%00", "after=YWJj", "accession=%00", "state=none", "open=x"]
)
def test_parameters_are_named(site, query):
    caller = site.caller()
    answer = caller.client.get(f"{BASE}/orders?{query}", headers={"Authorization": f"Bearer {caller.token}"})
    said = problem(answer, 422, "api.invalid")
    assert said["errors"][0]["parameter"] == query.partition("=")[0]


def test_what_is_sent_as_a_file(site, settings):
    caller = site.caller()
    test, form = f"test={site.test.pk}", "multipart/form-data"
    problem(caller.send("x", query="test=00000000-0000-0000-0000-000000000000"), 422, "api.invalid")
    problem(caller.send("x", query=f"{test}&organisation={site.laboratory.pk}"), 403, "access.not-permitted")
    problem(caller.send("x", content_type="image/png", query=test), 415, "api.media-type")
    problem(caller.send("no form", content_type=f"{form}; boundary=x", query=test), 422, "api.invalid")
    problem(caller.send("no form", content_type=form, query=test), 400, "api.malformed")
    settings.UPLOAD_LIMIT = 10
    problem(caller.send("x" * 11, query=test), 413, "file.too-large")


def test_an_answer_of_another_kind_is_not_acceptable(site):
    caller = site.caller()
    headers = {"Authorization": f"Bearer {caller.token}", "Accept": "text/html"}
    problem(caller.client.get(f"{BASE}/me", headers=headers), 406, "api.not-acceptable")


def test_a_placer_number_that_stands_for_another_order_is_a_conflict(site):
    caller = site.caller()
    site.order(caller, placer={"system": "LIS", "number": "7"})
    body = site.wanted(site.upload(caller, vcf(400)), placer={"system": "LIS", "number": "7"})
    problem(caller.post("/orders", body), 409, "order.conflict")


def test_a_fault_of_ours_tells_nothing_of_itself(site, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("secret of the house")

    caller = site.caller()
    monkeypatch.setattr(selectors, "offered_tests", fail)
    said = problem(caller.get("/tests"), 500, "api.failed")
    assert "secret" not in json.dumps(said) and caller.token not in capsys.readouterr().out


def test_a_database_that_is_away_says_when_to_come_back(site, monkeypatch):
    def fail(*_):
        raise OperationalError("connection refused")

    monkeypatch.setattr(selectors, "offered_tests", fail)
    answer = site.caller().get("/tests")
    assert problem(answer, 503, "api.unavailable") and answer["Retry-After"]
