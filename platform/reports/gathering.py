"""Reads an order and its run into the canonical content. Only reads: what it finds is what the report says."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, QuerySet

from engine_queue.models import Result, Run
from foundation.reasons import WORDS, Reason
from orders.models import Intake, Order, Patient
from registry import calibration
from registry.calibration import Curve
from reports import backgrounds, commons, genes, release
from reports.backgrounds import Beside
from reports.content import (
    FORMAT,
    CodeCount,
    Content,
    Excluded,
    Gene,
    Heading,
    Identifier,
    InputFacts,
    Interpreted,
    Laboratory,
    Methods,
    OrderFacts,
    Ordering,
    PatientFacts,
    ResultLine,
    SpecimenFacts,
    TestFacts,
)

EXCLUDED_LISTED = 50
UNIT = "natural log-likelihood (nats)"
_RECORD = "item__intakerecord__"
_COLUMNS = {
    "ordinal": "item__ordinal",
    "line": f"{_RECORD}line",
    "name": "item__name",
    "length": f"{_RECORD}length",
    "contig": "item__contig",
    "submitted_contig": f"{_RECORD}submitted_contig",
    "position": "item__position",
    "ref": "item__ref",
    "alt": "item__alt",
    "end_position": "item__end_position",
    "norm_position": f"{_RECORD}norm_position",
    "norm_ref": f"{_RECORD}norm_ref",
    "norm_alt": f"{_RECORD}norm_alt",
    "genotype": f"{_RECORD}genotype",
    "zygosity": f"{_RECORD}zygosity",
    "phased": f"{_RECORD}phased",
    "filter": f"{_RECORD}filter",
    "ll_ref": "ll_ref",
    "ll_alt": "ll_alt",
    "delta": "delta",
    "tokens": "tokens",
    "flags": "flags",
    "failure": "failure",
    "fingerprint": "fingerprint",
    "markov_delta": f"{_RECORD}markov_delta",
    "consequence": f"{_RECORD}consequence",
    "bases": "bases",
    "said": f"{_RECORD}flags",
}
_BLANK: dict[str, Any] = {  # an item that came from no intake record
    "line": 0,
    "length": 0,
    "submitted_contig": "",
    "norm_position": 0,
    "norm_ref": "",
    "norm_alt": "",
    "genotype": "",
    "zygosity": "",
    "phased": False,
    "filter": "",
    "consequence": "",
    "said": [],
}


def curve_of(run: Run) -> Curve | None:
    """What the probabilities of a run are read from; None: it has none."""
    made_of: dict[str, Any] = {"model_version_id": run.model_version_id, "protocol": run.protocol, "precision": run.precision}
    return calibration.curve(run.test, **made_of) if run.item_set.kind == "variant" else None


def result_lines(results: QuerySet[Result], curve: Curve | None = None, background: Beside | None = None) -> list[ResultLine]:
    """Result rows beside the records they came from, in the order of the query; with what a curve and a background say of them."""
    return commons.ranked((_line(row, curve) for row in results.values_list(*_COLUMNS.values())), background)


def gather(*, order: Order, run: Run, heading: Heading) -> Content:
    """The whole content of one report version."""
    background = backgrounds.of(run)
    lines = result_lines(run.results.order_by("item__ordinal"), curve_of(run), background)
    return _content(order, run, heading, lines, genes.overlapping(run.item_set.reference, lines), background)


def again(*, order: Order, run: Run, said: Content) -> Content:
    """What the content would be now. Result rows are insert-only, so those already said are taken as they are."""
    background = backgrounds.of(run)
    lines = commons.ranked(said.results, background)
    return replace(_content(order, run, said.report, lines, said.genes, background), changes=said.changes)


def _content(
    order: Order, run: Run, heading: Heading, lines: list[ResultLine], found: list[Gene], background: Beside | None
) -> Content:
    return Content(
        format=FORMAT,
        report=heading,
        laboratory=_laboratory(order),
        ordering=_ordering(order),
        patient=_patient(order),
        specimen=_specimen(order),
        order=_order(order, run),
        test=_test(run),
        input=_input(order.intake),
        methods=_methods(run, lines, order.intake),
        genes=found,
        results=lines,
        interpretation=_interpretation(order),
        common=commons.said(background) if run.item_set.kind == "variant" else None,
    )


def _interpretation(order: Order) -> Interpreted:
    last = order.interpretations.order_by("-number").first()
    return Interpreted(text=last.text, author=last.author_name, written_at=utc(last.at)) if last else Interpreted()


def utc(moment: datetime | None) -> str:
    """ISO 8601 in UTC; empty where there is no time."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else ""


def _line(row: tuple[Any, ...], curve: Curve | None) -> ResultLine:
    values = dict(zip(_COLUMNS, row, strict=True))
    values |= {field: blank for field, blank in _BLANK.items() if values[field] is None}
    values["flags"] = list(dict.fromkeys([*values["flags"], *values.pop("said")]))  # the engine's, then the intake's
    comparable = curve is not None and Reason.ITEM_SCORED_BREAKPOINTS not in values["flags"]  # Δ is on another scale there
    return ResultLine(**values, probability=curve.at(values["delta"]) if curve and comparable else None)


def _laboratory(order: Order) -> Laboratory:
    of, at = order.performing_laboratory, order.performing_site
    return Laboratory(
        name=of.name,
        address=at.address,
        phone=at.phone,
        clia_number=of.clia_number,
        time_zone=at.time_zone,
        site="" if at.name == of.name else at.name,
    )


def _ordering(order: Order) -> Ordering:
    by, at = order.ordering_organisation, order.ordering_site
    return Ordering(
        organisation=by.name,
        address=at.address,
        phone=at.phone,
        person=order.placed_by.name if order.placed_by else "",
        placer_system=order.placer_system,
        placer_number=order.placer_number,
        site="" if at.name == by.name else at.name,
        provider=order.provider_name,
        provider_contact=order.provider_contact,
    )


def _patient(order: Order) -> PatientFacts:
    patient = order.patient
    identifiers = patient.identifiers.filter(retired_at=None).order_by("type", "system", "value")
    return PatientFacts(
        family_name=patient.family_name,
        given_name=patient.given_name,
        birth_date=patient.birth_date.isoformat(),
        sex=patient.sex,
        identifiers=[
            Identifier(system=i.system, issuer=_issuer(patient, i.system), type=i.type, value=i.value) for i in identifiers
        ],
    )


def _issuer(patient: Patient, system: str) -> str:
    """An organisation's own numbers carry its id as their system."""
    return patient.organisation.name if system == str(patient.organisation_id) else system


def _specimen(order: Order) -> SpecimenFacts:
    it = order.specimen
    return SpecimenFacts(
        identifier=it.identifier,
        type=it.type,
        source=it.source,
        collected_at=utc(it.collected_at),
        received_at=utc(it.received_at),
        condition=it.condition_said,
        rejected=f"{WORDS[it.rejected_reason]} {it.rejected_words}".strip() if it.rejected_reason else "",
        rejected_at=utc(it.rejected_at),
    )


def _order(order: Order, run: Run) -> OrderFacts:
    return OrderFacts(
        accession=order.accession,
        indication=order.indication,
        priority=order.priority,
        stat_reason=order.stat_reason,
        placed_at=utc(order.placed_at),
        accepted_at=utc(order.accepted_at),
        scored_at=utc(run.scored_at),
    )


def _test(run: Run) -> TestFacts:
    version = run.test
    return TestFacts(
        code=version.definition.code,
        name=version.definition.name,
        version=version.number,
        intended_use=version.intended_use,
        validated=release.validated(run),
        limitations=version.limitations,
    )


def _input(intake: Intake) -> InputFacts:
    rows = intake.rows.exclude(outcome="accepted")
    by_code = rows.values_list("outcome", "code").annotate(count=Count("id")).order_by("outcome", "code")
    kept_out = rows.filter(outcome__in=["parked", "refused"])
    listed = kept_out.order_by("line", "alt_index", "id")[:EXCLUDED_LISTED]
    excluded = [
        Excluded(line=r.line, contig=r.contig, position=r.position, outcome=r.outcome, code=r.code, reason=r.reason) for r in listed
    ]
    return InputFacts(
        filename=intake.filename,
        sha256=intake.file.sha256,
        size=intake.file.size,
        kind=intake.kind,
        sample=intake.sample,
        records=intake.records,
        counts=dict(intake.counts),
        by_code=[CodeCount(*row) for row in by_code],
        excluded=excluded,
        excluded_not_listed=kept_out.count() - len(excluded),
    )


def _methods(run: Run, lines: Iterable[ResultLine], intake: Intake) -> Methods:
    model, deployment, reference = run.model_version, run.deployment, run.item_set.reference
    curve = curve_of(run)
    return Methods(
        run=str(run.pk),
        run_kind=run.kind,
        model=model.name,
        model_version=model.version,
        weights_sha256=model.weights_sha256,
        tokenizer_sha256=model.tokenizer_sha256,
        precision=run.precision,
        protocol=run.protocol,
        reference=reference.name if reference else "",
        reference_description=reference.description if reference else "",
        reference_digest=run.reference_digest,
        deployment=deployment.name,
        deployment_fingerprint=deployment.fingerprint,
        result_fingerprints=sorted({line.fingerprint for line in lines}),
        batch_invariant=not run.results.filter(batch_invariant=False).exists(),
        unit=UNIT,
        calibration_sha256=curve.sha256 if curve else "",
        calibration_source=curve.source if curve else "",
        **intake.facts.get("baselines", {}),
    )
