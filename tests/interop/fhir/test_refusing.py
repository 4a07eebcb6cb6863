"""What cannot be taken is told as an OperationOutcome that says what and where; nothing of it is kept."""

import copy
import json

import pytest
from django.db import OperationalError
from hypothesis import HealthCheck, Phase, given, settings, strategies

from accounts import tokens
from accounts.models import Membership
from accounts.roles import Role
from foundation import clock
from interop.fhir import asking, finding, reading, received
from interop.fhir.outcomes import FhirError
from interop.models import FhirOrder
from tests.factories import make_organisation
from tests.interop.fhir.sender import SPECIMEN, Sender, alone, bundle, document, issues, patient, request, specimen
from tests.interop.fhir.shapes import model

pytestmark = pytest.mark.django_db


@pytest.fixture
def sender(site):
    return Sender(site)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "api.malformed"),
        (b"\xff\xfe", 400, "api.malformed"),
        (b'{"resourceType": "Bundle", "resourceType": "Bundle"}', 400, "api.malformed"),
        (b'{"resourceType": "Bundle", "x": NaN}', 400, "api.malformed"),
        (b"[" * 100_000, 400, "api.malformed"),
        (b'{"resourceType":"Bundle","entry":' + b"[" * 60 + b"]" * 60 + b"}", 400, "api.malformed"),
        (b"[]", 400, "api.malformed"),
        (b"{}", 400, "fhir.resource-not-taken"),
        (b'{"resourceType": "Medication"}', 400, "fhir.resource-not-taken"),
        (b'{"resourceType": ["Bundle"]}', 400, "fhir.resource-not-taken"),
        (b'{"resourceType": "Bundle", "type": null}', 422, "fhir.empty"),
    ],
)
def test_bodies_that_cannot_be_read(sender, body, status, code):
    assert issues(sender.post(body), status)[0][0] == code


def test_forms_of_the_body_and_of_the_answer(sender):
    assert issues(sender.post(b"<Bundle/>", kind="application/fhir+xml"), 415) == [("api.media-type", "")]
    for accept in ("application/fhir+xml", "text/html"):
        assert issues(sender.get("/metadata", Accept=accept), 406) == [("api.not-acceptable", "")]
    assert issues(sender.get("/metadata", {"_format": "xml"}), 406) == [("api.not-acceptable", "")]
    for right in ("json", "application/fhir+json", "application/json"):
        assert sender.get("/metadata", {"_format": right}, Accept="text/html").status_code == 200
    assert sender.post(sender.bundle(), kind="application/json; charset=utf-8").status_code == 200


def test_addresses_and_methods_that_are_not_there(sender):
    assert issues(sender.get("/Medication"), 404) == [("api.not-found", "")]
    assert issues(sender.get("/ServiceRequest/not-an-id"), 404) == [("api.not-found", "")]
    answer = sender.caller.client.put("/fhir/Task", headers=sender.caller._headers({}))
    assert answer["Allow"] == "GET" and issues(answer, 405) == [("api.method-not-allowed", "")]
    assert sender.caller.client.head("/fhir/metadata").status_code == 200


@pytest.mark.parametrize("kind", ["batch", "message", "document", "transactions"])
def test_other_bundles(sender, kind):
    assert issues(sender.post({**sender.bundle(), "type": kind}), 422) == [("fhir.code-unknown", "Bundle.type")]


def test_a_body_that_is_too_large(sender, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert issues(sender.post(sender.bundle()), 413) == [("api.too-large", "")]


ORDER = "Bundle.entry[3].resource"
WRONG = {  # what is changed in the order → where that is told
    "status": ("draft", f"{ORDER}.status"),
    "intent": ("plan", f"{ORDER}.intent"),
    "authoredOn": ("2026-01-15", f"{ORDER}.authoredOn"),
    "doNotPerform": (True, f"{ORDER}.doNotPerform"),
    "priorty": ("stat", f"{ORDER}.priorty"),
    "note": ([{"text": "urgent!"}], f"{ORDER}.note"),
    "modifierExtension": ([{"url": "x", "valueString": "y"}], f"{ORDER}.modifierExtension"),
    "specimen": ([], f"{ORDER}.specimen"),
    "identifier": ([{"value": "7"}], f"{ORDER}.identifier[0].system"),
    "code": ({"text": "a panel"}, f"{ORDER}.code"),
    "subject": ({"reference": "urn:uuid:nobody"}, f"{ORDER}.subject"),
    "supportingInfo": ([{"reference": "urn:uuid:61ebe359-0000"}], f"{ORDER}.supportingInfo[0]"),
    "performer": ([{"reference": "Organization/1"}], f"{ORDER}.performer[0]"),
    "extension": ([{"url": "https://other.example", "valueString": "x"}], f"{ORDER}.extension[0].url"),
    "reasonCode": ([{"coding": [{"system": "http://snomed.info/sct"}]}], f"{ORDER}.reasonCode[0].text"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_an_order_is_told_where(sender, name):
    value, where = WRONG[name]
    assert issues(sender.post(sender.bundle(**{name: value})), 422)[0][1] == where
    assert not FhirOrder.objects.exists()


@pytest.mark.parametrize(
    ("others", "where"),
    [
        ((patient(gender="F"), specimen(), document()), "Bundle.entry[0].resource.gender"),
        ((patient(birthDate="1961"), specimen(), document()), "Bundle.entry[0].resource.birthDate"),
        ((patient(birthDate="1799-01-01"), specimen(), document()), "Bundle.entry[0].resource.birthDate"),
        ((patient(name=[{"family": "A\0B", "given": ["C"]}]), specimen(), document()), "Bundle.entry[0].resource.name[0].family"),
        ((patient(), specimen(collection={"collectedDateTime": "2026-01-15T08:30:00"}), document()),
         "Bundle.entry[1].resource.collection.collectedDateTime"),
        ((patient(), specimen(subject={"reference": "Patient/other"}), document()), "Bundle.entry[1].resource.subject"),
        ((patient(), specimen(), document(data="***")), "Bundle.entry[2].resource.content[0].attachment.data"),
        ((patient(), specimen(), document(), patient()), "Bundle.entry[3].fullUrl"),
        ((specimen(), document()), "Bundle.entry[2].resource.subject"),
        ((patient(identifier=[{"system": "x", "value": "1", "use": "old"}]), specimen(), document()),
         "Bundle.entry[0].resource.identifier[0].use"),
        ((patient(identifier=[{"system": "x", "value": "1", "type": {"text": "passport"}}]), specimen(), document()),
         "Bundle.entry[0].resource.identifier[0].type"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_what_comes_with_it_is_told_where(sender, others, where):
    assert issues(sender.post(sender.bundle(*others)), 422)[0][1] == where
    assert not FhirOrder.objects.exists()


def test_entries(sender):
    twice = sender.bundle()
    twice["entry"].append({**twice["entry"][-1], "fullUrl": "urn:uuid:other"})
    assert issues(sender.post(twice), 422) == [("fhir.one-order", "Bundle.entry")]
    elsewhere = sender.bundle()
    elsewhere["entry"][0]["request"]["url"] = "Specimen"
    assert issues(sender.post(elsewhere), 422) == [("fhir.entry-address", "Bundle.entry[0].request.url")]
    unused = sender.bundle()
    unused["entry"].append({**unused["entry"][0], "fullUrl": "urn:uuid:more"})
    assert issues(sender.post(unused), 422) == [("fhir.not-used", "Bundle.entry[4].resource")]
    loose = alone(request(sender.test))
    del loose["contained"][1]["id"]
    assert issues(sender.post(loose, "/ServiceRequest"), 422) == [("fhir.required", "ServiceRequest.contained[1].id")]


def test_what_an_order_does_not_carry_is_left_out_where_the_sender_allows_it_and_told(sender):
    rich = patient(telecom=[{"system": "phone", "value": "1"}], extension=[{"url": "x", "valueString": "y"}])
    rich["name"][0]["prefix"] = ["Dr"]
    body = sender.bundle(rich, specimen(), document(), note=[{"text": "tube 2"}], category=[{"text": "lab"}])
    places = {"Bundle.entry[0].resource.telecom", "Bundle.entry[0].resource.extension", "Bundle.entry[0].resource.name[0].prefix",
              f"{ORDER}.note", f"{ORDER}.category"}  # fmt: skip
    strict = issues(sender.post(body), 422)
    assert {where for _, where in strict} == places and {code for code, _ in strict} == {"fhir.not-carried"}
    answer = sender.post(body, Prefer="handling=lenient")
    told = answer.json()["entry"][-1]["response"]["outcome"]["issue"]
    assert {issue["expression"][0] for issue in told if issue["severity"] == "warning"} == places
    body["entry"][-1]["resource"]["priorty"] = "stat"
    assert issues(sender.post(body, Prefer="handling=lenient"), 422) == [("fhir.not-carried", f"{ORDER}.priorty")]


def test_rights_and_tokens(sender, site):
    user = site.user()
    few = Sender(site, user, "place", "view_order")
    assert issues(few.post(few.bundle(priority="stat")), 422) == [("order.invalid", f"{ORDER}.priority")]
    Membership.objects.create(user=user, organisation=make_organisation(), role=Role.REQUESTER, granted_at=clock.now())
    assert issues(few.post(few.bundle()), 422) == [("fhir.one-organisation", ORDER)]


def test_a_database_that_is_away_says_when_to_come_back(sender, monkeypatch):
    def fail(*_):
        raise OperationalError("connection refused")

    monkeypatch.setattr(finding, "one", fail)
    answer = sender.get(f"/Task/{sender.site.test.pk}")
    assert issues(answer, 503) == [("api.unavailable", "")] and answer["Retry-After"]


def test_the_elements_that_are_left_out_are_those_that_r4_has(sender):
    for kind in (received.Patient, received.Specimen, received.DocumentReference, received.ServiceRequest, received.Bundle):
        known = {field.alias or name for name, field in model(kind.__name__).model_fields.items()}
        unlisted = known - kind.left - set(kind.model_fields)
        assert kind.left <= known and {name for name in unlisted if "__ext" not in name and not name.startswith("_")} <= {
            "modifierExtension", "resource_type", "fhir_comments", "resourceType",
        }, kind  # fmt: skip


def places(part, path=()):
    """Every place in a body."""
    yield path
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for name, one in inner:
        yield from places(one, (*path, name))


def changed(body, path, how):
    """The body with one place taken out, or another value there."""
    made = copy.deepcopy(body)
    here = made
    for step in path[:-1]:
        here = here[step]
    if how == "gone":
        del here[path[-1]]
    elif how == "more" and isinstance(here, dict):
        here[f"{path[-1]}x"] = here[path[-1]]
    else:
        here[path[-1]] = how
    return made


VALUES = strategies.one_of(
    strategies.sampled_from(["gone", "more", "", [], {}, [[]], "\0", "stat", "2026-02-30", SPECIMEN, 10**400, -0.5, True]),
    strategies.text(max_size=5),
    strategies.none(),
)  # fmt: skip


@settings(max_examples=120, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data())
def test_any_change_of_a_valid_transaction_is_taken_whole_or_refused_with_a_place(sender, data):
    body = bundle(request(sender.test))
    path = data.draw(strategies.sampled_from([place for place in places(body) if place]))
    sent = changed(body, path, data.draw(VALUES))
    actor = tokens.authenticate(sender.caller.token)
    try:
        wanted = asking.asked(reading.read(json.dumps(sent).encode(), {"Bundle": received.Bundle}, lenient=False), actor)
    except FhirError as error:
        assert error.status in (400, 422) and all(issue.expression or issue.code == "api.malformed" for issue in error.issues)
        return
    assert carried(wanted, sent), sent


def carried(wanted, sent) -> bool:
    """Every value of the resources stands in what is kept of them."""
    kept = {str(value) for _, value in leaves([wanted.said, wanted.filename])}
    told = [one["resource"] for one in sent["entry"]]
    beside = {
        "resourceType",
        "reference",
        "data",
        "contentType",
        "status",
        "div",
        "id",
        "priority",
        *received.Resource.model_fields,
    }
    return all(str(value) in kept for name, value in leaves(told) if name not in beside)


def leaves(part, name=""):
    if isinstance(part, dict):
        for key, one in part.items():
            yield from leaves(one, key)
    elif isinstance(part, list):
        for one in part:
            yield from leaves(one, name)
    else:
        yield name, part
