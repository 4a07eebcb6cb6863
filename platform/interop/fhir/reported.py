"""DiagnosticReport: a status before release, and after it the results of the released version, from its canonical content alone."""

from datetime import datetime
from typing import Any

from foundation.actor import Actor
from interop.fhir import shown, statuses, systems
from interop.fhir.shown import Resource, filled, instant
from orders.models import Order
from reports import issuing, release, services, wording
from reports.content import Content, ResultLine, parse
from reports.models import REVISED, ReportKind, ReportVersion

MOST = 1_000  # results told one by one; beyond them, the forms hold them all
_LOINC = {
    "contig": ("48013-7", "Genomic reference sequence [ID]"),
    "ref": ("69547-8", "Genomic ref allele [ID]"),
    "alt": ("69551-0", "Genomic alt allele [ID]"),
}
_FORMS = (("application/pdf", "report.pdf", "Report"), ("text/csv", "results.csv", "All results"))


def report(order: Order, changed: datetime) -> Resource | None:
    """The report of an order; None where there is none to speak of."""
    released = release.released_version(order)
    newest = order.reports.exclude(state__in=["draft", "discarded"]).order_by("-number").first()
    status = statuses.of_report(order, newest, released)
    if status is None:
        return None
    told = _told(order, released, status) if released is not None else {}
    return filled(
        resourceType="DiagnosticReport",
        id=str(order.pk),
        meta=shown.meta(order.version, changed),
        identifier=[{"system": systems.REPORT, "value": order.accession}],
        basedOn=[{"reference": f"ServiceRequest/{order.pk}"}],
        status=status,
        category=[{"coding": [{"system": systems.SECTION, "code": "GE", "display": "Genetics"}]}],
        code=shown.test(order.test_version),
        subject={"reference": f"Patient/{order.patient_id}"},
        specimen=[{"reference": f"Specimen/{order.specimen_id}"}],
        **told,
    )


def _told(order: Order, version: ReportVersion, status: str) -> Resource:
    content = parse(version.content)
    lines = content.results if len(content.results) <= MOST else []
    device = _device(content)
    observations = [_observation(order, content, line, status) for line in lines]
    forms = [
        {"contentType": media, "url": f"/api/v1/orders/{order.pk}/{name}", "title": title, "creation": instant(version.released_at)}
        | (issuing.fixity(version) if media == "application/pdf" else {})
        for media, name, title in _FORMS
    ]
    return {
        "contained": [device, *observations] if observations else [],
        "effectiveDateTime": content.specimen.collected_at,
        "issued": instant(version.released_at),
        "performer": [{"display": content.laboratory.name}],
        "resultsInterpreter": [
            {"display": name} for name in version.signatures.order_by("at").values_list("printed_name", flat=True)
        ],
        "conclusion": _conclusion(version, content),
        "result": [{"reference": f"#{observation['id']}"} for observation in observations],
        "presentedForm": forms,
    }


def read(actor: Actor, order: Order) -> None:
    """Write that a client has fetched the report, and open what was delivered to it. Before release there is none to read."""
    released = release.released_version(order)
    if released is not None:
        services.read(actor=actor, order=order, version=released, action="report.viewed")


def _conclusion(version: ReportVersion, content: Content) -> str:
    """The interpretation, behind what a reader must know of the report before he reads it."""
    kind = ReportKind(version.kind).label if version.kind in REVISED else ""
    use = wording.use_banner(content.test.intended_use, validated=content.test.validated)
    return "\n".join(filter(None, (use, kind, content.report.reason, content.interpretation.text)))


def _device(content: Content) -> Resource:
    """The model, so that nobody takes the score for a measurement."""
    methods = content.methods
    return {
        "resourceType": "Device",
        "id": "model",
        "identifier": [{"system": f"{systems.OURS}/NamingSystem/weights-sha256", "value": methods.weights_sha256}],
        "deviceName": [{"name": methods.model, "type": "model-name"}],
        "version": [{"value": methods.model_version}, {"value": f"fingerprint {methods.deployment_fingerprint or 'unknown'}"}],
    }


def _observation(order: Order, content: Content, line: ResultLine, status: str) -> Resource:
    """One score, under a code of our own: it says how likely a model finds a sequence, and of no patient that he is ill."""
    code = "delta-log-likelihood" if line.contig else "log-likelihood"
    value = line.delta if line.contig else line.ll_alt
    absent = {"coding": [{"system": systems.ABSENT, "code": "error"}], "text": line.failure or "no score"}
    return filled(
        resourceType="Observation",
        id=f"r{line.ordinal}",
        status=status,
        category=[{"coding": [{"system": systems.CATEGORY, "code": "laboratory"}]}],
        code={"coding": [{"system": systems.SCORE, "code": code}], "text": content.methods.unit},
        subject={"reference": f"Patient/{order.patient_id}"},
        specimen={"reference": f"Specimen/{order.specimen_id}"},
        effectiveDateTime=content.specimen.collected_at,
        valueQuantity=None if value is None else {"value": value, "unit": "nat"},
        dataAbsentReason=absent if value is None else None,
        method=filled(text=_method(content)),
        device={"reference": "#model"},
        component=_components(line),
    )


def _method(content: Content) -> str:
    said = " ".join(f"{name} {value}" for name, value in sorted(content.methods.protocol.items()))
    return f"DNA language model {content.methods.model} {content.methods.model_version}, {content.methods.precision}; {said}"


def _components(line: ResultLine) -> list[Resource]:
    if not line.contig:
        return [_component({"coding": [{"system": systems.SCORE, "code": "sequence-name"}]}, line.name or str(line.ordinal))]
    found = [_component(_loinc(part), getattr(line, part)) for part in _LOINC]
    return [*found, _component({"coding": [{"system": systems.SCORE, "code": "position"}], "text": "1-based"}, str(line.position))]


def _component(code: Resource, value: Any) -> Resource:
    return {"code": code, "valueString": str(value)}


def _loinc(part: str) -> Resource:
    code, display = _LOINC[part]
    return {"coding": [{"system": systems.LOINC, "code": code, "display": display}]}
