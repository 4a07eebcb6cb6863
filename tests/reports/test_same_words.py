"""Page, stored PDF, CSV, API and FHIR of an issued report say what its canonical JSON says, field by field."""

import hashlib
import io
import json

import pytest
from django.urls import reverse
from django.utils.html import escape
from pypdf import PdfReader

from accounts.roles import Role
from audit.models import Event
from reports import document
from reports.content import parse
from tests.dashboard.people import logged_in
from tests.factories import make_token
from tests.interop.caller import Caller
from tests.interop.fhir.test_reading import reader
from tests.reports import signers

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    return signers.scored(signers=2)


@pytest.fixture
def issued(order):
    lab = signers.laboratory_of(order)
    signers.interpret(order, lab, "Nothing stands out.\nLook at the second one.")
    return signers.issued(order, lab)


def squeezed(text: str) -> str:
    return "".join(text.split())


def said(version) -> list[str]:
    """Every field of the content that is printed, as the document has it, and the content's own strings."""
    content, printed = parse(version.content), document.compose(version)
    patient, specimen, methods = content.patient, content.specimen, content.methods
    own = [
        patient.family_name, patient.given_name, patient.birth_date, *(one.value for one in patient.identifiers),
        specimen.identifier, specimen.type, specimen.source, content.order.accession, content.order.indication,
        content.test.name, content.test.code, content.input.filename, content.input.sha256, content.laboratory.name,
        content.laboratory.clia_number, content.ordering.organisation, methods.model, methods.model_version,
        methods.weights_sha256, methods.tokenizer_sha256, methods.precision, methods.reference_digest, methods.deployment,
        methods.run, *methods.result_fingerprints, content.interpretation.author, *content.interpretation.text.splitlines(),
    ]  # fmt: skip
    cells = [cell for table in (printed.results, printed.verdicts, printed.signatures) for row in table.rows for cell in row]
    return [text for text in (*own, *cells, *printed.limitations, printed.edition, printed.sha256) if text]


def test_page_and_stored_pdf_say_every_field(order, issued):
    client = logged_in(Role.REQUESTER, order.ordering_organisation)
    page = squeezed(client.get(reverse("report-page", args=[order.pk])).content.decode())
    body = client.get(reverse("report-pdf", args=[order.pk])).content
    pdf = squeezed("".join(one.extract_text() for one in PdfReader(io.BytesIO(body)).pages))
    assert [text for text in said(issued) if squeezed(escape(text)) not in page] == []
    assert [text for text in said(issued) if squeezed(text) not in pdf] == []
    event = Event.objects.get(action="report.issued")
    assert hashlib.sha256(body).hexdigest() == event.facts["document_sha256"]


def test_what_programs_read_is_the_content_and_the_stored_document(order, issued):
    requester = signers.make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    token = make_token(requester)
    api = Caller(token)
    answer = api.get(f"/orders/{order.pk}/report")
    assert answer.content.decode() == issued.content and answer["ETag"] == f'"{issued.content_sha256}"'
    assert hashlib.sha256(api.get(f"/orders/{order.pk}/report.pdf").content).hexdigest() == issued.document_sha256
    csv = api.get(f"/orders/{order.pk}/results.csv").content
    assert hashlib.sha256(csv).hexdigest() in str(document.compose(issued).results.notes) and b"study report" in csv
    results = api.get(f"/orders/{order.pk}/results").json()
    content = parse(issued.content)
    assert (results["report_state"], results["released"]) == ("study report, not for clinical use", True)
    assert [one["delta"] for one in results["results"]] == [line.delta for line in content.results]


def test_fhir_holds_the_values_of_the_content_bit_by_bit(order, issued):
    found = reader(order).get(f"/DiagnosticReport/{order.pk}").json()
    content = parse(issued.content)
    observed = {one["id"]: one for one in found["contained"] if one["resourceType"] == "Observation"}
    for line in content.results:
        one = observed[f"r{line.ordinal}"]
        parts = {part["code"]["coding"][0]["code"]: part["valueString"] for part in one["component"]}
        assert one["valueQuantity"]["value"] == line.delta
        assert (parts["48013-7"], parts["69547-8"], parts["69551-0"], parts["position"]) == (
            line.contig, line.ref, line.alt, str(line.position),
        )  # fmt: skip
    assert len(observed) == len(content.results) and found["status"] == "preliminary"
    assert content.interpretation.text in found["conclusion"]
    assert [one["display"] for one in found["resultsInterpreter"]] == ["Reviewer", "Laboratory director"]
    assert json.dumps(content.specimen.collected_at) == json.dumps(found["effectiveDateTime"])
