"""The nouns of the API: what goes in, exactly, and what comes out."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field, StringConstraints

from interop.api.late_shapes import LateGiven, LateShape
from interop.api.texts import AFTER as AFTER
from interop.api.texts import CURSOR as CURSOR
from interop.api.texts import KEY as KEY
from interop.api.texts import PLAIN
from interop.api.texts import Day as Day
from interop.api.texts import Given as Given
from interop.api.texts import Line80 as Line80
from interop.api.texts import Line120 as Line120
from interop.api.texts import Line300 as Line300
from interop.api.texts import Line500 as Line500
from interop.api.texts import Moment as Moment
from interop.api.texts import PriorityName as PriorityName
from interop.api.texts import SexName as SexName


class ProblemShape(Schema):
    """RFC 9457 problem details. `code` is one of our reason codes; `type` leads to its words."""

    class FaultShape(Schema):
        detail: str
        pointer: str | None = Field(None, description="JSON pointer into the body")
        parameter: str | None = Field(None, description="name of a parameter or header")

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[FaultShape]


class Named(Schema):
    """An organisation."""

    id: UUID
    name: str


class ProviderShape(Schema):
    """Who may ask an organisation's orders; an order of an organisation with providers names one of them."""

    id: UUID
    name: str
    department: str


class SiteShape(Schema):
    """A place of an organisation; an order that names none comes from the main one."""

    id: UUID
    code: str
    name: str


class OrderingShape(Named):
    """An organisation that orders can be placed for, with what an order may name of it."""

    providers: list[ProviderShape]
    sites: list[SiteShape]


class PatientGiven(Given):
    """Who is tested. `mrn_system` is blank for the ordering organisation's own numbers."""

    mrn: Line80
    mrn_system: Line120 = ""
    family_name: Line120
    given_name: Line120
    birth_date: Day
    sex: SexName


class SpecimenGiven(Given):
    """What was taken, and when, with its offset from UTC."""

    identifier: Line80
    type: Line80
    source: Line120 = ""
    collected_at: Moment


class PlacerGiven(Given):
    """The number under which your system knows the order: the same number with the same content is the same order."""

    system: Line120 = ""
    number: Line80


class OrderGiven(Given):
    """A complete order. STAT without a reason is still STAT, and flagged until somebody gives it."""

    intake: UUID
    organisation: UUID | None = Field(None, description="who orders; without it, who uploaded the file")
    patient: PatientGiven
    specimen: SpecimenGiven
    priority: PriorityName
    stat_reason: Line300 = ""
    indication: Line300 = ""
    sample_confirmed: Annotated[str, StringConstraints(max_length=255, pattern=PLAIN)] = Field(
        "", description="repeats the chosen sample of a file that holds several"
    )
    placer: PlacerGiven | None = None
    provider: UUID | None = Field(None, description="who asks; needed where the ordering organisation has providers")
    site: UUID | None = Field(None, description="of the ordering organisation; without it, its main one")
    performing_site: UUID | None = Field(None, description="of the laboratory that performs; without it, its main one")
    repeats: UUID | None = Field(None, description="an earlier order of the same patient that this one repeats")
    late_entry: LateGiven | None = Field(None, description="it was taken on paper in a downtime; needs the right `late_entry`")


class ReplaceGiven(OrderGiven):
    """An order in the place of another, and what is changed and why."""

    replaces_reason: Line300


class SampleGiven(Given):
    """The column of a file that is this specimen."""

    sample: Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=PLAIN)]


class CancelGiven(Given):
    """Why, in words."""

    reason: Line500


class HoldGiven(Given):
    """Why, as a code."""

    reason: Literal["hold.specimen", "hold.input", "hold.requester", "hold.laboratory"]


class StatReasonGiven(Given):
    """Why an order is STAT that came without a reason, in words."""

    reason: Line300


class PriorityGiven(Given):
    """Another priority, and why, in words."""

    priority: PriorityName
    reason: Line300


class TestShape(Schema):
    """A test that can be ordered."""

    id: UUID
    code: str
    name: str
    version: int
    laboratory: Named
    sites: list[SiteShape] = Field(description="of the laboratory, the main one first: an order can name where it is performed")
    accepts: list[str]
    reference: str
    reference_digest: str
    intended_use: str
    limitations: str
    minutes: dict[str, list[int]] = Field(description="priority → minutes from acceptance to scored, and to released")


class Trouble(Schema):
    """Something said of the whole file."""

    code: str
    reason: str
    line: int | None = None
    fatal: bool


class IntakeShape(Schema):
    """An upload and its verdict. Only a ready one can be ordered on."""

    id: UUID
    state: Literal["waiting", "checking", "ready", "refused", "withdrawn"]
    test: UUID
    organisation: Named
    laboratory: Named
    filename: str
    sha256: str
    size: int
    kind: str
    samples: list[str]
    sample: str
    records: int
    counts: dict[str, int] = Field(description="outcome → number of record × ALT")
    problems: list[Trouble]
    progress: float
    tokens: int | None = Field(description="the work of scoring it, once it is ready")
    created_at: datetime
    checked_at: datetime | None


class RecordShape(Schema):
    """The verdict on one record × ALT, or one sequence."""

    line: int
    alt_index: int
    outcome: str
    code: str
    reason: str
    flags: list[str]
    contig: str
    position: int
    ref: str
    alt: str
    norm_position: int
    norm_ref: str
    norm_alt: str
    genotype: str
    zygosity: str
    phased: bool
    filter: str
    name: str
    length: int
    consequence: str


class RecordPage(Schema):
    """A page of records; `next` is the cursor of the one behind it."""

    records: list[RecordShape]
    next: str | None


class Estimate(Schema):
    """Between these two the last item is scored, by what engines foresee and lately did."""

    earliest: datetime
    latest: datetime
    items_ahead: int
    served: bool = Field(description="a worker is there for it")
    paused: bool = Field(description="nothing of it is computed now, because more urgent work is")


class PatientShape(Schema):
    """As the laboratory knows the patient; `mrn` as the order stated it."""

    mrn: str
    family_name: str
    given_name: str
    birth_date: date
    sex: str


class SpecimenShape(Schema):
    """The specimen of an order."""

    identifier: str
    type: str
    source: str
    collected_at: datetime
    received_at: datetime | None


class OrderLine(Schema):
    """An order in a list."""

    id: UUID
    accession: str
    state: str
    priority: PriorityName
    stat_reason: str
    attention: str = Field(description="reason code of what a person has to settle; blank: nothing")
    attention_also: list[str] = Field(description="reason codes of what else a person has to settle")
    hold: str = Field(description="reason code of the hold; blank: it is not on hold")
    organisation: Named
    laboratory: Named
    placer_system: str
    placer_number: str
    patient: PatientShape
    test: UUID
    test_name: str
    items_total: int
    items_done: int
    risk: str
    placed_at: datetime
    accepted_at: datetime | None
    started_at: datetime | None
    scored_at: datetime | None
    ended_at: datetime | None
    result_due: datetime | None
    report_due: datetime | None
    edits: int = Field(description="counts what people changed; the ETag, for If-Match")


class LooksLike(Schema):
    """Another order that this one looked like when it was placed; nothing was blocked for it."""

    id: UUID
    accession: str
    reasons: list[str]


class HoldRequestShape(Schema):
    """That somebody asked for a hold, and until when a second person can answer. Until then the work goes on."""

    reason: str
    words: str
    asked_by: str
    asked_at: datetime
    expires_at: datetime


class OrderShape(OrderLine):
    """One order: where it stands, never a score."""

    indication: str
    provider: str = Field(description="name, as it was when the order was placed; blank: none was named")
    site: str
    performing_site: str
    specimen: SpecimenShape
    late_entry: LateShape | None = Field(description="it was taken on paper in a downtime")
    intake: UUID
    cancelled_reason: str
    released: bool
    hold_asked: HoldRequestShape | None = Field(description="a hold that waits for a second person")
    repeats: UUID | None
    replaces: UUID | None
    replaced_by: UUID | None
    estimate: Estimate | None
    looks_like: list[LooksLike]


class OrderPage(Schema):
    """A page of orders, the newest first."""

    orders: list[OrderLine]
    next: str | None


class EventShape(Schema):
    """One thing that happened to an order or its upload."""

    at: datetime
    action: str
    by: str
    reason: str
    before: str | None = None
    after: str | None = None


class EventList(Schema):
    """The timeline, oldest first."""

    events: list[EventShape]


class MembershipShape(Schema):
    """What the token may do in one organisation."""

    organisation: Named
    verbs: list[str]


class MeShape(Schema):
    """Who asks, with which token."""

    id: UUID
    name: str
    token: str = Field(description="the part of the token that may be seen")
    token_name: str
    scopes: list[str]
    expires_at: datetime
    organisations: list[MembershipShape]
