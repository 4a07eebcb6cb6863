"""What a person or a program asks for when an order is placed."""

from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class OtherNumber:
    """Another number that the patient is known by, verbatim."""

    system: str
    value: str
    type: str = ""  # such as NI or SS; blank: not said


@dataclass(frozen=True)
class PatientDetails:
    """Who is tested, as the requester states it."""

    mrn: str
    family_name: str
    given_name: str
    birth_date: date
    sex: str  # Sex
    mrn_system: str = ""  # blank: the ordering organisation's own numbers
    others: tuple[OtherNumber, ...] = ()


@dataclass(frozen=True)
class SpecimenDetails:
    """What was taken, and when."""

    identifier: str
    type: str
    source: str
    collected_at: datetime  # aware


@dataclass(frozen=True)
class LateDetails:
    """Of an order that was taken on paper in a downtime: what was true then."""

    downtime: str  # its code within the laboratory, such as D3
    requested_at: datetime  # aware; within the downtime
    taken_by: str  # address or name of a colleague, or the name of anybody
    reason: str  # LateReason
    words: str = ""
    received_at: datetime | None = None  # aware; None: its specimen had not come when it was entered
    condition: str = "acceptable"  # Condition, of a specimen that had come
    condition_words: str = ""


@dataclass(frozen=True)
class OrderRequest:
    """A complete order, before anything has been checked."""

    intake_id: UUID
    ordering_organisation_id: UUID
    patient: PatientDetails
    specimen: SpecimenDetails
    priority: str  # Priority
    stat_reason: str = ""
    indication: str = ""
    sample_confirmed: str = ""  # must repeat the chosen column of a file with several samples
    placer_system: str = ""
    placer_number: str = ""
    repeats: UUID | None = None  # an earlier order of the same patient
    provider_id: UUID | None = None  # who asks: one of the organisation's providers, wanted as soon as it has any
    site_id: UUID | None = None  # of the ordering organisation; none: its main one
    performing_site_id: UUID | None = None  # of the laboratory that performs; none: its main one
    late: LateDetails | None = None  # none: it is asked for now


def as_said(request: OrderRequest) -> dict[str, Any]:
    """Everything a request says, for a hash: what was added later is left out where it is not said."""
    said = asdict(request)
    if not request.patient.others:
        del said["patient"]["others"]
    if request.late is None:
        del said["late"]
    return said
