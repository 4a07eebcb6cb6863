"""Beside every score: what a Markov chain makes of the change, and what the annotation says it does."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from accounts.roles import Role
from orders import checking, uploads
from orders.models import Intake, IntakeRecord
from registry import files, markov
from registry.annotations.consequences import NO_ANNOTATION, TOOL
from registry.errors import RegistrationRefused
from registry.models import Annotation, Reference, TestVersion
from registry.services import offer_test
from reports import document, result_table, spreadsheet
from reports.content import parse
from tests.factories import by, make_actor, make_laboratory, make_test_version
from tests.registry import genes
from tests.registry.genes import BASES, F1
from tests.reports.cases import drafted, scored_order

pytestmark = pytest.mark.django_db
HEADER = f"##fileformat=VCFv4.2\n##contig=<ID=one,length={len(BASES)}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
CHANGES = [(F1 + 5, "T", "C"), (F1 + 6, "A", "T"), (10, BASES[9], "G")]


def tiny(tmp_path: Path, settings: Any, accepts: Sequence[str] = ("vcf",)) -> TestVersion:
    """A test on a small genome, whose annotation is registered and not named yet."""
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "one.fa").write_text(f">one\n{BASES}\n")
    (tmp_path / "genes.gff3").write_text(genes.ensembl())
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    call_command("register_reference", str(tmp_path / "one.fa"), "--name", "tiny", *by(), **quiet)
    call_command("register_annotation", str(tmp_path / "genes.gff3"), "--reference", "tiny", *by(), **quiet)
    reference = Reference.objects.get(name="tiny")
    return make_test_version(reference=reference, accepts=accepts)


@pytest.fixture
def test_version(tmp_path: Path, settings: Any) -> TestVersion:
    return tiny(tmp_path, settings)


def annotated(test: TestVersion) -> TestVersion:
    """The next version of the test, which names an annotation."""
    return offer_test(
        laboratory=test.definition.laboratory, code=test.definition.code, name="", accepts=test.accepts, reference=test.reference,
        deployment=test.deployment, protocol=test.protocol, sla_minutes=test.sla_minutes, annotation=Annotation.objects.get(),
    )  # fmt: skip


def uploaded(test: TestVersion) -> Intake:
    text = HEADER + "".join(f"one\t{position}\t.\t{ref}\t{alt}\t.\tPASS\t.\n" for position, ref, alt in sorted(CHANGES))
    laboratory = test.definition.laboratory
    intake = uploads.start_intake(
        actor=make_actor(role=Role.ACCESSIONER, organisation=laboratory), test_version=test,
        ordering_organisation_id=laboratory.pk, chunks=[text.encode()], filename="in.vcf",
    )  # fmt: skip
    checking.check_intake(intake.pk)
    return Intake.objects.get(pk=intake.pk)


def test_every_accepted_change_has_both(test_version: TestVersion) -> None:
    rows = {row.position: row for row in uploaded(annotated(test_version)).rows.all()}
    chain = markov.tables(test_version.reference_id)
    assert chain is not None
    for position, ref, alt in CHANGES:
        assert rows[position].markov_delta == markov.delta(chain, lambda s, e: BASES[s:e], position, ref, alt) != 0.0
    said = [rows[position].consequence for position, _, _ in CHANGES]
    assert said == ["synonymous fwd 2A (T1)", "stop gained fwd 3K>3* (T1)", "intergenic"]


def test_without_an_annotation_the_column_says_so(test_version: TestVersion) -> None:
    intake = uploaded(test_version)
    assert set(intake.rows.values_list("consequence", flat=True)) == {NO_ANNOTATION}
    assert (intake.facts["baselines"]["annotation"], intake.facts["baselines"]["consequence_tool"]) == ("", "")


def test_a_report_names_them_and_what_they_were_worked_out_with(test_version: TestVersion) -> None:
    version = drafted(scored_order(intake=uploaded(annotated(test_version))))
    said = parse(version.content)
    line = next(line for line in said.results if line.position == F1 + 6)
    assert line.consequence == "stop gained fwd 3K>3* (T1)"
    assert (said.methods.consequence_tool, said.methods.annotation) == (TOOL, "genes.gff3")
    assert said.methods.markov == "Markov chain of order 5, fitted on the whole reference, forward strand"
    printed = result_table.results(said)
    assert printed.columns[-3:-1] == ("Δ Markov", "Consequence")
    assert any("stop gained fwd 3K>3* (T1)" in row for row in printed.rows)
    assert {"markov_delta", "consequence"} <= set(spreadsheet.COLUMNS)
    methods = {fact.label: fact.value for fact in document.compose(version).methods.facts}
    assert methods["Consequence"] == f"{TOOL}, annotation genes.gff3"


def test_what_an_order_rests_on_cannot_be_changed(test_version: TestVersion) -> None:
    scored_order(intake=uploaded(test_version))
    with pytest.raises(IntegrityError, match="is pinned"), transaction.atomic():
        IntakeRecord.objects.update(consequence="benign")


def test_a_test_with_other_details_is_its_next_version_and_the_same_details_are_the_same(test_version: TestVersion) -> None:
    second = annotated(test_version)
    assert (second.number, annotated(test_version)) == (2, second)
    test_version.refresh_from_db()
    assert (test_version.offered, second.offered) == (False, True)


def test_an_annotation_of_another_reference_is_refused(test_version: TestVersion) -> None:
    other = make_test_version(laboratory=make_laboratory())
    with pytest.raises(RegistrationRefused, match="belongs to tiny, not to"):
        annotated(other)


def test_the_files_are_below_data_dir_wherever_that_lies(test_version: TestVersion, tmp_path: Path, settings: Any) -> None:
    (tmp_path / "data").rename(tmp_path / "moved")
    settings.DATA_DIR = tmp_path / "moved"
    assert files.fasta(test_version.reference).is_file()
    assert files.transcripts(Annotation.objects.get()).is_file()
