"""What a person or a program asks for when an order is placed."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID


@dataclass(frozen=True)
class PatientDetails:
    """Who is tested, as the requester states it."""

    mrn: str
    family_name: str
    given_name: str
    birth_date: date
    sex: str  # Sex
    mrn_system: str = ""  # blank: the ordering organisation's own numbers


@dataclass(frozen=True)
class SpecimenDetails:
    """What was taken, and when."""

    identifier: str
    type: str
    source: str
    collected_at: datetime  # aware


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
