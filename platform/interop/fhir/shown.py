"""Orders as ServiceRequest, Task, Patient and Specimen. Never a score."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from foundation.reasons import WORDS, Reason
from interop.fhir import late, statuses, systems
from interop.models import FhirOrder
from orders.models import LateEntry, Order, Patient, PatientIdentifier, Specimen
from registry.models import TestVersion

Resource = dict[str, Any]


def instant(moment: datetime | None) -> str | None:
    """As FHIR writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else None


def filled(**parts: Any) -> Resource:
    """Only what is there: FHIR has no null, and nothing empty."""
    return {name.rstrip("_"): part for name, part in parts.items() if part not in (None, "", [], {})}


def service_request(order: Order, asked: FhirOrder | None, changed: datetime, *, replaced: UUID | None) -> Resource:
    """An order; `replaced` is the one that it replaces, where the reader may see it."""
    said = asked.said["ServiceRequest"] if asked else {}
    extensions: list[Resource] = [{"url": systems.STAT_REASON, "valueString": order.stat_reason}] if order.stat_reason else []
    entry: LateEntry | None = getattr(order, "late_entry", None)
    extensions += [late.shown(entry)] if entry else []
    return filled(
        resourceType="ServiceRequest",
        id=str(order.pk),
        meta=meta(order.version, changed),
        extension=extensions,
        identifier=identifiers(order),
        replaces=[{"reference": f"ServiceRequest/{replaced}"}] if replaced else [],
        status=statuses.of_order(order).request,
        intent="order",
        priority=statuses.PRIORITIES[order.priority],
        code=test(order.test_version),
        subject={"reference": f"Patient/{order.patient_id}"},
        authoredOn=said.get("authoredOn") or instant(entry.requested_at if entry else order.placed_at),
        requester=said.get("requester") or filled(display=order.provider_name or (order.placed_by.name if order.placed_by else "")),
        performer=[_organisation(order.performing_laboratory.code, order.performing_laboratory.name)],
        reasonCode=_reason_code(order, said),
        supportingInfo=[_file(str(order.intake_id), order.intake.sample)],
        specimen=[{"reference": f"Specimen/{order.specimen_id}"}],
    )


def service_request_asked(asked: FhirOrder) -> Resource:
    """What is no order yet: as it was said, with patient and specimen inside, since nobody has settled who that is."""
    said = asked.said["ServiceRequest"]
    contained = [{**asked.said[kind], "id": kind.lower()} for kind in ("Patient", "Specimen") if kind in asked.said]
    for part in contained:
        if "subject" in part:
            part["subject"] = {"reference": "#patient"} if "Patient" in asked.said else said["subject"]
    inside: Resource = {"subject": {"reference": "#patient"}} if "Patient" in asked.said else {}
    if "Specimen" in asked.said:
        inside["specimen"] = [{"reference": "#specimen"}]
    lead = {"resourceType": "ServiceRequest", "id": str(asked.pk), "meta": meta(asked.version, asked.changed_at)}
    own = {
        "status": statuses.of_asked(asked).request,
        "priority": statuses.PRIORITIES[asked.priority],
        "identifier": identifiers(asked),
        "supportingInfo": [_file(str(asked.intake_id), asked.request["sample_confirmed"])],
    }
    return filled(**{**lead, **said, "contained": contained, **inside, **own})


def task(order: Order, changed: datetime) -> Resource:
    """How far an order is."""
    held = "" if order.ended_at else order.hold_reason or order.attention
    return filled(
        resourceType="Task",
        id=str(order.pk),
        meta=meta(order.version, changed),
        identifier=identifiers(order),
        basedOn=[{"reference": f"ServiceRequest/{order.pk}"}],
        status=statuses.of_order(order).task,
        statusReason=_coded(systems.REASON, held, WORDS.get(held, "")) if held else _ended(order),
        businessStatus=_business(order.state, needs_a_person=bool(order.attention)),
        intent="order",
        priority=statuses.PRIORITIES[order.priority],
        code={"coding": [{"system": systems.TASK_CODE, "code": "fulfill"}]},
        focus={"reference": f"ServiceRequest/{order.pk}"},
        for_={"reference": f"Patient/{order.patient_id}"},
        executionPeriod=filled(start=instant(order.started_at), end=instant(order.ended_at)),
        authoredOn=instant(order.placed_at),
        lastModified=instant(changed),
        owner=_organisation(order.performing_laboratory.code, order.performing_laboratory.name),
        restriction=filled(period=filled(end=instant(order.report_due))),
    )


def task_asked(asked: FhirOrder) -> Resource:
    """The same for what is no order yet: it waits for the check of its file, or for a person."""
    code = asked.code or str(Reason.FHIR_WAITING)
    words = asked.words or Reason.FHIR_WAITING.words
    return filled(
        resourceType="Task",
        id=str(asked.pk),
        meta=meta(asked.version, asked.changed_at),
        identifier=identifiers(asked),
        basedOn=[{"reference": f"ServiceRequest/{asked.pk}"}],
        status=statuses.of_asked(asked).task,
        statusReason=_coded(systems.REASON, code, words),
        businessStatus=_business(asked.state, needs_a_person=asked.state == "parked"),
        intent="order",
        priority=statuses.PRIORITIES[asked.priority],
        code={"coding": [{"system": systems.TASK_CODE, "code": "fulfill"}]},
        focus={"reference": f"ServiceRequest/{asked.pk}"},
        authoredOn=instant(asked.asked_at),
        lastModified=instant(asked.changed_at),
        owner=_organisation(asked.performing_laboratory.code, asked.performing_laboratory.name),
    )


def patient(row: Patient) -> Resource:
    """Who is tested, as the ordering organisation knows him."""
    return filled(
        resourceType="Patient",
        id=str(row.pk),
        identifier=[_number(row, number) for number in row.identifiers.all()],
        name=[{"use": "official", "family": row.family_name, "given": [row.given_name]}],
        gender=row.sex,
        birthDate=row.birth_date.isoformat(),
    )


def specimen(row: Specimen, asked: FhirOrder | None) -> Resource:
    """What was taken; type and site as they were coded, where they came by FHIR."""
    said = asked.said.get("Specimen", {}) if asked else {}
    site = said.get("collection", {}).get("bodySite") or (row.source and {"text": row.source})
    return filled(
        resourceType="Specimen",
        id=str(row.pk),
        identifier=said.get("identifier") or [{"value": row.identifier}],
        type=said.get("type") or {"text": row.type},
        subject={"reference": f"Patient/{row.patient_id}"},
        receivedTime=instant(row.received_at),
        collection=filled(collectedDateTime=instant(row.collected_at), bodySite=site or None),
        condition=[{"text": row.condition}] if row.condition else [],
    )


def identifiers(row: Order | FhirOrder) -> list[Resource]:
    """The sender's number of an order, and ours."""
    found = []
    if row.placer_number:
        found.append(filled(type=_type("PLAC"), system=row.placer_system, value=row.placer_number))
    if isinstance(row, Order):
        found.append(filled(type=_type("FILL"), system=systems.ACCESSION, value=row.accession))
    return found


def meta(version: int, changed: datetime) -> Resource:
    """Which version this is, and since when."""
    return {"versionId": str(version), "lastUpdated": instant(changed)}


def test(version: TestVersion) -> Resource:
    """What was ordered."""
    definition = version.definition
    coding = {"system": systems.TEST, "version": str(version.number), "code": definition.code, "display": definition.name}
    return {"coding": [coding], "text": definition.name}


def _type(code: str) -> Resource:
    return {"coding": [{"system": systems.IDENTIFIER_TYPE, "code": code}]}


def _number(patient: Patient, number: PatientIdentifier) -> Resource:
    own = number.system == str(patient.organisation_id)
    use = "official" if number.retired_at is None else "old"
    kind = _type("MR" if number.type == "MRN" else number.type)
    return filled(use=use, type=kind, system=f"urn:uuid:{number.system}" if own else number.system, value=number.value)


def _organisation(code: str, name: str) -> Resource:
    return {"identifier": {"system": systems.ORGANISATION, "value": code}, "display": name}


def _file(intake: str, sample: str) -> Resource:
    extension = [{"url": systems.VCF_SAMPLE, "valueString": sample}] if sample else []
    return filled(extension=extension, identifier={"system": systems.INTAKE, "value": intake})


def _reason_code(order: Order, said: Resource) -> list[Resource]:
    return said.get("reasonCode") or ([{"text": order.indication}] if order.indication else [])


def _coded(system: str, code: str, words: str) -> Resource:
    return filled(coding=[{"system": system, "code": code}], text=words)


def _business(state: str, *, needs_a_person: bool) -> Resource:
    """Our own state, finer than Task.status; and whether a person has to do something before or beside it."""
    coding = [{"system": systems.PROGRESS, "code": state.replace("_", "-")}]
    coding += [{"system": systems.PROGRESS, "code": "needs-attention"}] if needs_a_person else []
    return {"coding": coding}


def _ended(order: Order) -> Resource | None:
    """Why nothing comes of it any more: with our code, and the words of the person where somebody wrote some."""
    if order.state not in ("cancelled", "rejected", "entered_in_error"):
        return None
    reason = _why(order)
    return _coded(systems.REASON, str(reason), order.cancelled_reason or reason.words)


def _why(order: Order) -> Reason:
    if order.state == "entered_in_error":
        return Reason.ORDER_WRONG_PATIENT
    if order.state == "cancelled":
        return Reason.ORDER_REPLACED if getattr(order, "was_replaced", False) else Reason.ORDER_CANCELLED
    if order.specimen.state == "rejected":
        return Reason.SPECIMEN_REJECTED
    return Reason.IDENTITY_REJECTED if order.conflicts_with_id is None else Reason.CONFLICT_REFUSED
