"""A report as people read it: words, tables and the picture, composed from the canonical content alone.

Page and PDF both print this object and nothing else, so they cannot say different things.
"""

from dataclasses import dataclass
from datetime import datetime

from orders.machines import IN_ERROR
from registry.annotations.consequences import NO_ANNOTATION
from reports import common_picture, result_table, statements, svg, wording
from reports.content import Content, parse
from reports.locus import TELEPHONE
from reports.models import CORRECTED, REVISED, Meaning, ReportKind, ReportVersion
from reports.result_table import Table

_KINDS = dict(ReportKind.choices)


@dataclass(frozen=True)
class Fact:
    """A labelled value."""

    label: str
    value: str
    exact: bool = False  # a digest or identifier, set in a fixed-width font


@dataclass(frozen=True)
class Group:
    """Facts under one heading."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Document:
    """Everything printed, in the order of printing."""

    title: str
    banners: tuple[str, ...]
    laboratory: tuple[str, ...]
    accession: str
    identity: str  # the identifiers that stand on each page
    edition: str  # version and kind, on each page
    groups: tuple[Group, ...]
    outcome: str
    picture: str  # SVG, or empty
    small_picture: str  # the same for a telephone
    picture_words: str
    results: Table
    common: tuple[str, ...]  # paragraphs on the common variants of the region; of sequences none
    common_picture: str  # SVG, or empty
    common_small_picture: str
    common_picture_words: str
    common_table: Table
    verdicts: Table
    excluded: Table
    methods: Group
    interpretation: tuple[str, ...]  # paragraphs
    interpreted_by: str
    revision: str  # what it takes the place of, and why; blank: of nothing
    changes: Table
    signatures: Table
    limitations: tuple[str, ...]
    sha256: str  # of the canonical content


def compose(version: ReportVersion, *, issued_at: datetime | None = None) -> Document:
    """The document of one report version; `issued_at` is told while it is being issued."""
    said, issued = parse(version.content), issued_at or version.released_at
    return Document(
        title=f"Variant score report: {said.test.name}",
        banners=(*_recalled(version), *_banners(said, issued=issued is not None)),
        laboratory=_laboratory(said),
        accession=said.order.accession,
        identity=identity(said),
        edition=_edition(said, issued),
        groups=(_patient(said), _specimen(said), _order(said), _input(said)),
        outcome=statements.outcome(said),
        picture=svg.picture(said),
        small_picture=svg.picture(said, TELEPHONE),
        picture_words=svg.alternative(said),
        results=result_table.results(said),
        common=statements.common(said),
        common_picture=common_picture.picture(said),
        common_small_picture=common_picture.picture(said, TELEPHONE),
        common_picture_words=common_picture.alternative(said),
        common_table=result_table.common(said),
        verdicts=result_table.verdicts(said),
        excluded=result_table.excluded(said),
        methods=_methods(said),
        interpretation=statements.interpretation(said),
        interpreted_by=statements.interpreted_by(said),
        revision=_revision(said),
        changes=result_table.changes(said),
        signatures=_signatures(version, said.laboratory.time_zone),
        limitations=statements.limitations(said),
        sha256=version.content_sha256,
    )


def identity(said: Content) -> str:
    """Name, birth date and first identifier: at least two identifiers of the patient."""
    patient = said.patient
    number = f"{patient.identifiers[0].type} {patient.identifiers[0].value}" if patient.identifiers else "no patient number"
    return f"{patient.family_name}, {patient.given_name} · born {patient.birth_date} · {number}"


def _recalled(version: ReportVersion) -> tuple[str, ...]:
    """What has become of the version since its content was written; the content itself never changes."""
    if version.state == "superseded":
        return ("SUPERSEDED: ANOTHER VERSION TOOK ITS PLACE",)
    if version.state == IN_ERROR:
        return ("ENTERED IN ERROR: WRONG PATIENT, NOT VALID",)
    return ("THE ORDER WAS CANCELLED: NOT VALID",) if version.order.state == "cancelled" else ()


def _banners(said: Content, *, issued: bool) -> tuple[str, ...]:
    kind = ReportKind(said.report.kind)
    told = (
        "UNSIGNED DRAFT" if kind == ReportKind.UNSIGNED else "" if issued else "NOT SIGNED YET",
        "PRELIMINARY REPORT" if kind == ReportKind.PRELIMINARY else "",
        ("CORRECTED REPORT" if kind in CORRECTED else "AMENDED REPORT") if kind in REVISED else "",
        "THE SPECIMEN WAS REJECTED" if said.specimen.rejected else "",
        wording.use_banner(said.test.intended_use, validated=said.test.validated),
    )
    return tuple(filter(None, told))


def _edition(said: Content, issued: datetime | None) -> str:
    when = f" · issued {wording.moment(issued.isoformat(), said.laboratory.time_zone)}" if issued else ""
    return f"Report version {said.report.number} · {_KINDS[said.report.kind]}{when}"


def _revision(said: Content) -> str:
    report = said.report
    if not report.supersedes:
        return ""
    when = wording.moment(report.superseded_at, said.laboratory.time_zone)
    why = f" Reason: {report.reason}" if report.reason else ""
    return f"It takes the place of version {report.supersedes}, issued {when}.{why}"


def _signatures(version: ReportVersion, zone: str) -> Table:
    """Printed name, meaning and time of each (21 CFR 11.50)."""
    rows = tuple(
        (one.printed_name, Meaning(one.meaning).label, wording.moment(one.at.isoformat(), zone))
        for one in version.signatures.order_by("at")
    )
    note = f"Each signature is over the content with SHA-256 {version.content_sha256}."
    return Table("Signatures", ("Printed name", "Meaning", "Signed"), (), rows, (note,) if rows else ())


def _laboratory(said: Content) -> tuple[str, ...]:
    lab = said.laboratory
    return (
        " · ".join(filter(None, (lab.name, lab.site))),
        ", ".join(line.strip() for line in lab.address.splitlines() if line.strip()) or "address not recorded",
        f"CLIA {lab.clia_number or wording.NOT_RECORDED}" + (f" · {lab.phone}" if lab.phone else ""),
    )


def _patient(said: Content) -> Group:
    patient = said.patient
    numbers = tuple(Fact(i.type, f"{i.value} ({i.issuer})") for i in patient.identifiers)
    return Group(
        "Patient",
        (
            Fact("Name", f"{patient.family_name}, {patient.given_name}"),
            *numbers,
            Fact("Birth date", patient.birth_date),
            Fact("Sex", patient.sex.capitalize()),
        ),
    )


def _specimen(said: Content) -> Group:
    specimen, zone = said.specimen, said.laboratory.time_zone
    when = wording.moment(specimen.rejected_at, zone)
    rejected = (Fact("Rejected", f"{when}: {specimen.rejected}"),) if specimen.rejected else ()
    return Group(
        "Specimen",
        (
            Fact("Label", specimen.identifier, exact=True),
            Fact("Type", specimen.type),
            Fact("Source", specimen.source or wording.NOT_RECORDED),
            Fact("Collected", wording.moment(specimen.collected_at, zone)),
            Fact("Received", wording.moment(specimen.received_at, zone)),
            Fact("Condition", specimen.condition or wording.NOT_RECORDED),
            *rejected,
        ),
    )


def _order(said: Content) -> Group:
    order, by, zone = said.order, said.ordering, said.laboratory.time_zone
    placer = (Fact("Placer number", f"{by.placer_number} ({by.placer_system})"),) if by.placer_number else ()
    provider = (Fact("Provider", by.provider), Fact("Critical results to", by.provider_contact)) if by.provider else ()
    stat = (Fact("STAT reason", order.stat_reason),) if order.stat_reason else ()
    return Group(
        "Order",
        (
            *provider,
            Fact("Ordered by", " · ".join(filter(None, (by.person, by.organisation, by.site)))),
            *placer,
            Fact("Test", f"{said.test.name} ({said.test.code}), version {said.test.version}"),
            Fact("Priority", order.priority.upper()),
            *stat,
            Fact("Indication", order.indication or wording.NOT_RECORDED),
            Fact("Order received", wording.moment(order.placed_at, zone)),
            Fact("Accepted", wording.moment(order.accepted_at, zone)),
            Fact("Scored", wording.moment(order.scored_at, zone)),
            Fact("Report drafted", wording.moment(said.report.drafted_at, zone)),
        ),
    )


def _input(said: Content) -> Group:
    file = said.input
    return Group(
        "Input",
        (
            Fact("File", f"{file.filename} ({file.kind.upper()}, {wording.grouped(file.size)} bytes)"),
            Fact("SHA-256", file.sha256, exact=True),
            Fact("Sample column", file.sample or "none in the file"),
            Fact("Records", wording.grouped(file.records)),
        ),
    )


def _baselines(said: Content) -> tuple[Fact, ...]:
    """What stands beside the scores of variants, and with what it was worked out."""
    how = said.methods
    if said.input.kind != "vcf":
        return ()
    consequence = f"{how.consequence_tool}, annotation {how.annotation}" if how.annotation else NO_ANNOTATION
    consequence += "".join(f"; {wording.grouped(n)} {why}" for why, n in sorted(how.consequence_unknown.items()))
    digests = (("Baseline SHA-256", how.markov_sha256), ("Annotation digest", how.annotation_digest))
    return (
        Fact("Δ Markov", f"baseline: {how.markov}" if how.markov else "no baseline was fitted on this reference"),
        Fact("Consequence", consequence),
        *(Fact(label, digest, exact=True) for label, digest in digests if digest),
    )


def _calibration(said: Content) -> tuple[Fact, ...]:
    """Where probabilities come from; nothing where there are none."""
    how = said.methods
    if not how.calibration_sha256:
        return ()
    return (
        Fact("Calibration", f"made from: {how.calibration_source}"),
        Fact("Calibration SHA-256", how.calibration_sha256, exact=True),
    )


def _common(said: Content) -> tuple[Fact, ...]:
    """What the variants were seen beside; nothing where there is none."""
    of = said.common
    if of is None or not of.n:
        return ()
    return (
        Fact(
            "Common variants", f"{of.frequencies}, {of.region}, frequency at least {of.minimum * 100:g} %: {wording.grouped(of.n)}"
        ),
        Fact("Frequencies digest", of.frequencies_digest, exact=True),
        Fact("Background SHA-256", of.sha256, exact=True),
        Fact("Background run", of.run, exact=True),
    )


def _methods(said: Content) -> Group:
    how = said.methods
    reference = " · ".join(filter(None, (how.reference, how.reference_description))) or "none (sequences are scored as they are)"
    invariant = "held for every result" if how.batch_invariant else "NOT held for every result"
    return Group(
        "Methods",
        (
            Fact("Score", statements.score(said)),
            Fact("Model", f"{how.model} {how.model_version}, DNA language model"),
            Fact("Weights SHA-256", how.weights_sha256, exact=True),
            Fact("Tokenizer SHA-256", how.tokenizer_sha256, exact=True),
            Fact("Precision", how.precision),
            Fact("Protocol", statements.protocol(said)),
            Fact("Reference", reference),
            Fact("Reference digest", how.reference_digest or wording.NOT_RECORDED, exact=True),
            *_baselines(said),
            *_calibration(said),
            *_common(said),
            Fact("Deployment", how.deployment),
            Fact(
                "Fingerprint", ", ".join(how.result_fingerprints) or how.deployment_fingerprint or wording.NOT_RECORDED, exact=True
            ),
            Fact("Bit contract", f"the same bits whatever else the engine was doing: {invariant}"),
            Fact("Run", f"{how.run} ({how.run_kind})", exact=True),
        ),
    )
