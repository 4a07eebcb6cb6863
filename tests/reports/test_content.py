"""The canonical content: complete, exact and always the same bytes."""

import hashlib
import json
import math
import re
from dataclasses import replace

import pytest

from reports import content, document, result_table
from tests.factories import make_organisation
from tests.reports import cases

pytestmark = pytest.mark.django_db

# 42 CFR 493.1291(c), and what a genetic report shows besides: where each stands in the content.
REQUIRED = (
    "laboratory.name",
    "laboratory.address",
    "laboratory.clia_number",
    "laboratory.time_zone",
    "ordering.organisation",
    "ordering.person",
    "patient.family_name",
    "patient.given_name",
    "patient.birth_date",
    "patient.sex",
    "patient.identifiers.0.value",
    "specimen.identifier",
    "specimen.type",
    "specimen.source",
    "specimen.collected_at",
    "order.accession",
    "order.indication",
    "order.priority",
    "order.placed_at",
    "order.accepted_at",
    "order.scored_at",
    "report.drafted_at",
    "report.kind",
    "report.number",
    "test.name",
    "test.version",
    "test.intended_use",
    "test.limitations",
    "input.filename",
    "input.sha256",
    "input.counts.accepted",
    "methods.model",
    "methods.model_version",
    "methods.weights_sha256",
    "methods.precision",
    "methods.protocol.window",
    "methods.protocol.strand",
    "methods.reference",
    "methods.reference_digest",
    "methods.deployment",
    "methods.result_fingerprints.0",
    "methods.batch_invariant",
    "methods.unit",
    "results.0.contig",
    "results.0.position",
    "results.0.ref",
    "results.0.alt",
    "results.0.norm_position",
    "results.0.norm_ref",
    "results.0.norm_alt",
    "results.0.zygosity",
    "results.0.filter",
    "results.0.ll_ref",
    "results.0.ll_alt",
    "results.0.delta",
    "results.0.flags.0",
)


@pytest.fixture
def version():
    return cases.drafted(cases.scored_order())


def at(data, path):
    for step in path.split("."):
        data = data[int(step)] if isinstance(data, list) else data[step]
    return data


def test_every_required_field_stands_in_the_content(version):
    said = json.loads(version.content)
    assert [path for path in REQUIRED if at(said, path) in ("", None)] == []


def test_the_values_are_those_of_the_rows():
    order = cases.scored_order()
    said = content.parse(cases.drafted(order).content)
    assert (said.patient.family_name, said.order.accession) == (order.patient.family_name, order.accession)
    assert said.laboratory.clia_number == order.performing_laboratory.clia_number
    assert [line.delta for line in said.results] == [r.delta for r in cases.run_of(order).results.order_by("item__ordinal")]


def test_the_hash_is_over_the_stored_bytes(version):
    assert version.content_sha256 == hashlib.sha256(version.content.encode()).hexdigest()


def test_the_canonical_form_has_sorted_keys_no_space_and_reads_back_to_the_same_bytes(version):
    again = json.dumps(json.loads(version.content), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert again == version.content == content.canonical(content.parse(version.content))


def test_numbers_keep_every_bit(version):
    line = replace(content.parse(version.content).results[0], delta=0.1 + 0.2, ll_ref=-5e-324)
    back = json.loads(json.dumps(line.__dict__))
    assert (back["delta"], back["ll_ref"]) == (0.1 + 0.2, -5e-324)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_it_refuses_a_number_that_is_not_finite(version, value):
    said = content.parse(version.content)
    with pytest.raises(ValueError, match="not JSON compliant"):
        content.canonical(replace(said, results=[replace(said.results[0], delta=value)]))


def test_names_outside_ascii_are_written_as_themselves():
    order = cases.scored_order(patient=cases.patient(family_name="Žižić-中"))
    assert "Žižić-中" in cases.drafted(order).content


def test_parked_and_refused_records_are_listed_with_reasons_and_the_rest_is_counted():
    order = cases.scored_order(intake=cases.intake_with_exceptions(parked=60, refused=3))
    said = content.parse(cases.drafted(order).content).input
    assert len(said.excluded) == 50 and said.excluded_not_listed == 13
    assert [(row.outcome, row.count) for row in said.by_code] == [("parked", 60), ("refused", 3)]


def test_times_are_utc_in_the_content_and_in_the_zone_of_the_site_in_print():
    order = cases.scored_order(time_zone="Asia/Tokyo")
    version = cases.drafted(order)
    assert content.parse(version.content).order.placed_at.endswith("Z")
    facts = {fact.label: fact.value for group in document.compose(version).groups for fact in group.facts}
    assert facts["Order received"].endswith("JST")


def test_the_requester_and_the_hospital_are_named():
    hospital = make_organisation("Ward 4 Hospital")
    said = content.parse(cases.drafted(cases.ordered_by(hospital)).content)
    assert said.ordering.organisation == "Ward 4 Hospital"


def test_a_report_speaks_of_scores_only(version):
    words = json.dumps(document.compose(version).__dict__, default=lambda part: part.__dict__).lower()
    assert not re.findall(r"pathogenic|benign|deleterious|damaging|calls variants|compliant", words)
    assert "scores variants" in words and "it is not a probability" in words


def test_the_number_of_what_was_not_scored_is_said_beside_the_result():
    order = cases.scored_order(intake=cases.intake_with_exceptions(), delta=lambda n: None if n == 3 else -1.0)
    assert document.compose(cases.drafted(order)).outcome == "9 variants scored, 1 could not be scored, 2 parked, 1 refused."


def test_with_several_contigs_every_row_names_its_own():
    said = content.parse(cases.drafted(cases.scored_order(variants=2)).content)
    elsewhere = replace(said, results=[said.results[0], replace(said.results[1], contig="contig2")])
    assert {row[0].partition(":")[0] for row in result_table.results(elsewhere).rows} == {"contig1", "contig2"}
    assert {row[0] for row in result_table.results(said).rows} == {"200"}
