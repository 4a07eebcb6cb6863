"""The canonical content of a report. Its JSON is the source: page, PDF and every later form draw from these bytes alone.

Canonical form: UTF-8, keys sorted, no white space, numbers as the shortest text that reads back to the same double,
no NaN or infinity. Times are UTC. What is signed is SHA-256 of these bytes.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

FORMAT = "helicase.report/1"


@dataclass(frozen=True)
class Heading:
    """What the report says of itself."""

    number: int
    kind: str
    drafted_at: str
    supersedes: int = 0  # number of the version that it takes the place of; 0: of none
    superseded_sha256: str = ""  # of that one's content
    superseded_at: str = ""  # when that one was issued
    reason: str = ""  # why it was corrected or amended


@dataclass(frozen=True)
class Laboratory:
    """Who did the test, and where (42 CFR 493.1291(c)(2))."""

    name: str
    address: str
    phone: str
    clia_number: str
    time_zone: str  # times are printed in it
    site: str = ""  # whose address, telephone and zone these are; empty where it has the laboratory's own name


@dataclass(frozen=True)
class Ordering:
    """Who asked."""

    organisation: str
    address: str
    phone: str
    person: str
    placer_system: str
    placer_number: str
    site: str = ""  # as the laboratory's
    provider: str = ""  # whom the order names, as it was then …
    provider_contact: str = ""  # … and how a critical result reaches him


@dataclass(frozen=True)
class Identifier:
    """One number the patient is known by, verbatim."""

    system: str
    issuer: str  # the system in words
    type: str
    value: str


@dataclass(frozen=True)
class PatientFacts:
    """Whose specimen it was."""

    family_name: str
    given_name: str
    birth_date: str
    sex: str
    identifiers: list[Identifier]


@dataclass(frozen=True)
class SpecimenFacts:
    """What was tested."""

    identifier: str
    type: str
    source: str
    collected_at: str
    received_at: str  # empty: not recorded
    condition: str
    rejected: str = ""  # why it could not be used, in words; empty: it was not rejected
    rejected_at: str = ""


@dataclass(frozen=True)
class OrderFacts:
    """What was asked for, and when things happened."""

    accession: str
    indication: str
    priority: str
    stat_reason: str
    placed_at: str
    accepted_at: str
    scored_at: str


@dataclass(frozen=True)
class TestFacts:
    """The test, and what it may be used for."""

    __test__ = False  # not a test case, whatever its name says to pytest
    code: str
    name: str
    version: int
    intended_use: str
    validated: bool
    limitations: str


@dataclass(frozen=True)
class CodeCount:
    """How many record × ALT had this outcome for this reason."""

    outcome: str
    code: str
    count: int


@dataclass(frozen=True)
class Excluded:
    """One parked or refused record × ALT."""

    line: int
    contig: str
    position: int
    outcome: str
    code: str
    reason: str


@dataclass(frozen=True)
class InputFacts:
    """The file, and what became of its records."""

    filename: str
    sha256: str
    size: int
    kind: str
    sample: str
    records: int
    counts: dict[str, int]
    by_code: list[CodeCount]
    excluded: list[Excluded]  # the first ones
    excluded_not_listed: int


@dataclass(frozen=True)
class Methods:
    """How the scores came about: enough to do it again."""

    run: str
    run_kind: str
    model: str
    model_version: str
    weights_sha256: str
    tokenizer_sha256: str
    precision: str
    protocol: dict[str, Any]
    reference: str
    reference_description: str
    reference_digest: str
    deployment: str
    deployment_fingerprint: str
    result_fingerprints: list[str]
    batch_invariant: bool  # the engine's bit contract held for every result
    unit: str
    markov: str = ""  # the baseline, in words; none in texts of before it was kept
    markov_sha256: str = ""
    annotation: str = ""
    annotation_digest: str = ""
    consequence_tool: str = ""
    calibration_sha256: str = ""  # of the table that probabilities are read from; left out where there is none
    calibration_source: str = ""
    consequence_unknown: dict[str, int] = field(default_factory=dict)  # why a change has none, and how many have not


@dataclass(frozen=True)
class Gene:
    """A gene of the reference's annotation that overlaps the scored region; 1-based, inclusive."""

    contig: str
    start: int
    end: int
    strand: str
    name: str


@dataclass(frozen=True)
class ResultLine:
    """One scored (or failed) item beside what was submitted."""

    ordinal: int
    line: int  # of the submitted file
    name: str
    length: int  # bases of a sequence; 0 for a variant
    contig: str
    submitted_contig: str
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
    ll_ref: float | None
    ll_alt: float | None
    delta: float | None
    tokens: int
    flags: list[str]
    failure: str
    fingerprint: str
    markov_delta: float | None = None  # the baseline beside it; none in texts of before it was kept
    consequence: str = ""
    end_position: int = 0  # last base of a <DEL>, <DUP> or <INV>, 1-based; 0: the alleles are written out
    probability: float | None = None  # of Δ, from the calibration table of the test version; left out where there is none
    bases: int | None = None  # whose probability the sums hold; none in texts of before it was kept, and where it failed
    common_lower: int | None = None  # so many common variants have a lower Δ; left out where there are none to compare with


@dataclass(frozen=True)
class Common:
    """The common variants of the region, scored in the same way; `counts` of them have a Δ in each step from `low` on."""

    n: int = 0  # scored; 0: there are none to compare with, and everything else is blank
    failed: int = 0
    sha256: str = ""  # of the changes and their Δ
    run: str = ""
    fingerprint: str = ""
    frequencies: str = ""
    frequencies_digest: str = ""
    frequencies_source: str = ""
    region: str = ""
    minimum: float = 0.0  # frequency that makes a variant common
    low: float = 0.0
    step: float = 0.0
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Interpreted:
    """What the results mean, as a person wrote it; blank: nobody did."""

    text: str = ""
    author: str = ""  # printed name of who wrote or last edited it
    written_at: str = ""


@dataclass(frozen=True)
class Change:
    """One thing that a version says otherwise than the one it takes the place of."""

    field: str
    before: str
    now: str


@dataclass(frozen=True)
class Content:
    """Everything a report says."""

    format: str
    report: Heading
    laboratory: Laboratory
    ordering: Ordering
    patient: PatientFacts
    specimen: SpecimenFacts
    order: OrderFacts
    test: TestFacts
    input: InputFacts
    methods: Methods
    genes: list[Gene]
    results: list[ResultLine]
    interpretation: Interpreted = field(default_factory=Interpreted)
    changes: list[Change] = field(default_factory=list)  # against the version that is corrected or amended
    common: Common | None = None  # left out of sequences, and of texts of before it was compared


_READER = TypeAdapter(Content)
_LEFT_OUT = ("probability", "calibration_sha256", "calibration_source", "common_lower", "common")


def canonical(content: Content) -> str:
    """The canonical JSON text. Raises ValueError for a number that is not finite."""
    return json.dumps(content, default=_fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _fields(part: Any) -> dict[str, Any]:
    """The fields of a part. What only a calibration table or a background could fill is not even named where there is none."""
    return {name: value for name, value in part.__dict__.items() if name not in _LEFT_OUT or value not in (None, "")}


def digest(text: str) -> str:
    """SHA-256 of the UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def parse(text: str) -> Content:
    """The content that a canonical text holds."""
    return _READER.validate_json(text)
