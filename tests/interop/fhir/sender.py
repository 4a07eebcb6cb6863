"""A hospital's integration engine: what it sends by FHIR, and what it makes of the answers."""

import base64
import copy
import json
from typing import Any

from accounts.models import User
from interop.fhir import systems
from interop.tasks import place_fhir_orders
from orders import checking
from orders.models import Intake
from tests.dashboard.desk import vcf
from tests.factories import make_token
from tests.interop.caller import Caller, Site
from tests.interop.fhir.shapes import require_shape

FHIR = "application/fhir+json"
PATIENT, SPECIMEN, FILE = "urn:uuid:61ebe359-0000", "urn:uuid:61ebe359-0001", "urn:uuid:61ebe359-0002"


def coded(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


def patient(**changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "Patient",
        "identifier": [{"use": "official", "system": "https://hospital.example/mrn", "value": "88-1204"}],
        "name": [{"use": "official", "family": "Okafor", "given": ["Ngozi", "Ada"]}],
        "gender": "female",
        "birthDate": "1961-03-14",
        **changes,
    }


def specimen(**changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "Specimen",
        "identifier": [{"system": "https://hospital.example/tubes", "value": "S-7"}],
        "type": {"coding": [{"system": "http://snomed.info/sct", "code": "446131002", "display": "Blood culture isolate"}]},
        "subject": {"reference": PATIENT},
        "collection": {"collectedDateTime": "2026-01-15T08:30:00+01:00", "bodySite": {"text": "Left arm"}},
        **changes,
    }


def document(content: str | bytes = "", **changes: Any) -> dict[str, Any]:
    raw = content.encode() if isinstance(content, str) else content
    data = base64.b64encode(raw or vcf(300, 301, 302).encode()).decode()
    attachment = {"contentType": "text/plain", "data": data, "title": "isolate.vcf", **changes}
    return {"resourceType": "DocumentReference", "status": "current", "content": [{"attachment": attachment}]}


def request(test: str, **changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "ServiceRequest",
        "identifier": [{"system": "https://hospital.example/orders", "value": "55-201"}],
        "status": "active",
        "intent": "order",
        "priority": "urgent",
        "code": coded(systems.TEST, test),
        "subject": {"reference": PATIENT},
        "authoredOn": "2026-01-15T08:45:00+01:00",
        "requester": {"display": "Dr A. Lovelace"},
        "reasonCode": [{"text": "follow-up"}],
        "supportingInfo": [{"reference": FILE}],
        "specimen": [{"reference": SPECIMEN}],
        **changes,
    }


def bundle(order: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    """A transaction; the others are patient, specimen and file unless told otherwise."""
    sent = others or (patient(), specimen(), document())
    address = {"Patient": PATIENT, "Specimen": SPECIMEN, "DocumentReference": FILE, "Binary": FILE}
    entries = [(address[one["resourceType"]], one) for one in sent] + [("urn:uuid:61ebe359-0003", order)]
    return {
        "resourceType": "Bundle",
        "type": "transaction",
        "entry": [
            {"fullUrl": url, "resource": one, "request": {"method": "POST", "url": one["resourceType"]}} for url, one in entries
        ],
    }


def alone(order: dict[str, Any]) -> dict[str, Any]:
    """The same in one resource."""
    inside = [{**patient(), "id": "p"}, {**specimen(subject={"reference": "#p"}), "id": "s"}, {**document(), "id": "f"}]
    links = {"subject": {"reference": "#p"}, "specimen": [{"reference": "#s"}], "supportingInfo": [{"reference": "#f"}]}
    return {**copy.deepcopy(order), **links, "contained": inside}


class Sender:
    """A program with a token, at a hospital."""

    def __init__(self, site: Site, user: User | None = None, *scopes: str) -> None:
        self.site = site
        self.test = site.test.definition.code
        self.caller = Caller(make_token(user or site.user(), *scopes))

    def get(self, path: str, query: dict[str, str] | None = None, **headers: str) -> Any:
        answer = self.caller.client.get(f"/fhir{path}", query, headers=self.caller._headers(headers))
        return require_shape(answer)

    def post(self, body: Any, path: str = "", *, kind: str = FHIR, **headers: str) -> Any:
        said = body if isinstance(body, bytes) else json.dumps(body)
        headers = self.caller._headers(headers)
        return require_shape(self.caller.client.post(f"/fhir{path}", said, content_type=kind, headers=headers))

    def bundle(self, *others: dict[str, Any], **changes: Any) -> dict[str, Any]:
        return bundle(request(self.test, **changes), *others)

    def order(self, *others: dict[str, Any], checked: bool = True, **changes: Any) -> str:
        """The id of an order that was sent, its file checked and the sweep over it."""
        answer = self.post(self.bundle(*others, **changes))
        assert answer.status_code == 200, answer.content
        if checked:
            self.check()
        pk: str = answer.json()["entry"][-1]["resource"]["id"]
        return pk

    def check(self) -> None:
        """What the platform's workers do: check files, then go on with what waited for them."""
        self.check_files()
        place_fhir_orders()

    def check_files(self) -> None:
        for pk in Intake.objects.filter(state="waiting").values_list("pk", flat=True):
            checking.check_intake(pk)

    def task(self, pk: str) -> dict[str, Any]:
        told: dict[str, Any] = self.get(f"/Task/{pk}").json()
        return told


def issues(answer: Any, status: int) -> list[tuple[str, str]]:
    """Reason code and FHIRPath of every issue."""
    assert answer.status_code == status, answer.content
    said = answer.json()
    assert said["resourceType"] == "OperationOutcome", said
    return [(one["details"]["coding"][0]["code"], one.get("expression", [""])[0]) for one in said["issue"]]
