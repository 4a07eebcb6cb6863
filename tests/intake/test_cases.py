"""Every file of ../shared/cases gets the verdict that expectations.toml gives a reason for."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from orders.intake import FastaReference, Outcome, ReferenceView
from tests.intake.fitted import FittedReference
from tests.intake.judging import judge

CASES = Path(__file__).parents[3] / "shared" / "cases"
EXPECTED = tomllib.loads((Path(__file__).parent / "expectations.toml").read_text())["case"]

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the folder ../shared/cases is not on this machine")


def reference_of(case: dict, folder: Path) -> ReferenceView | None:
    wanted = case.get("reference")
    if wanted in (None, "fitted"):
        return FittedReference(CASES / case["file"]) if wanted else None
    copy = shutil.copyfile(CASES / "fasta" / wanted, folder / wanted)  # its index is written beside it
    return FastaReference(copy)


@pytest.mark.parametrize("case", EXPECTED, ids=[case["file"] for case in EXPECTED])
def test_the_file_gets_the_expected_verdict(case, tmp_path: Path):
    summary = judge(CASES / case["file"], reference=reference_of(case, tmp_path), sample=case.get("sample")).summary
    refusal = summary.refusal
    assert (str(summary.state), refusal and str(refusal.code)) == (case["state"], case.get("refusal"))
    assert (refusal and refusal.line) == case.get("line")
    assert {str(outcome): count for outcome, count in summary.counts.items() if count} == case["counts"]
    assert {str(code): count for code, count in summary.codes.items()} == case.get("codes", {})
    assert sorted(str(problem.code) for problem in summary.problems if not problem.fatal) == case.get("notes", [])


@pytest.mark.parametrize("case", EXPECTED, ids=[case["file"] for case in EXPECTED])
def test_against_an_unrelated_reference_nothing_is_accepted_by_chance(case, lexa: FastaReference):
    judged = judge(CASES / case["file"], reference=lexa, sample=case.get("sample"))
    if case["file"].startswith("vcf/"):
        assert judged.summary.counts[Outcome.ACCEPTED] == 0
        assert judged.summary.refusal is not None


def test_every_file_of_the_folder_has_an_expectation():
    assert {case["file"] for case in EXPECTED} == {str(path.relative_to(CASES)) for path in CASES.glob("*/*")}


def test_every_expectation_says_why():
    assert [case["file"] for case in EXPECTED if len(case.get("why", "").split()) < 2] == []


def test_every_faulty_fastq_is_refused():
    faulty = [case for case in EXPECTED if "error" in case["file"]]
    assert len(faulty) == 11
    assert {case["state"] for case in faulty} == {"refused"}
