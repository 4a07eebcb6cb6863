"""Whatever the bytes: no exception, every item counted once, and accepted alleles agree with the reference."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orders.intake import FastaReference, Limits, Outcome
from tests.intake.conftest import DEMO
from tests.intake.judging import Judged, judge

RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LIMITS = Limits(max_line=20_000, max_decompressed=1 << 20, max_header=50_000)

HEAD = b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\n"
BEGINNINGS = st.sampled_from([b"", HEAD, b">a\n", b"@r\n", b"\x1f\x8b\x08", b"##", b"\xff\xfe"])
FIELDS = st.sampled_from(
    [
        "1",
        "2",
        "chr1",
        "",
        ".",
        "0",
        "7",
        "60",
        "99",
        "A",
        "C",
        "GTAC",
        "a",
        "N",
        "R",
        "*",
        "<DEL>",
        "<*>",
        "A[2:3[",
        "A,C",
        ",",
        "ACGTACGTAC",
    ]
)
GENOTYPES = st.sampled_from(["0/1", "1|1", "1", "0/0", "./.", ".", "./1", "2/1", "x", "", "|1"])
ROWS = st.lists(st.tuples(FIELDS, FIELDS, FIELDS, FIELDS, FIELDS, GENOTYPES), max_size=12)


def row(contig: str, position: str, ref: str, alt: str, caller: str, genotype: str) -> str:
    return "\t".join((contig, position, ".", ref, alt, ".", caller, ".", "GT", genotype))


def require_truth(judged: Judged, reference: FastaReference) -> None:
    for verdict in judged.verdicts:
        if verdict.outcome is Outcome.ACCEPTED and verdict.contig:
            end = verdict.position - 1 + len(verdict.ref)
            assert reference.fetch(verdict.contig, verdict.position - 1, end) == verdict.ref
            assert verdict.norm_ref
            assert verdict.norm_alt


@RELAXED
@given(beginning=BEGINNINGS, rest=st.binary(max_size=400), packed=st.booleans())
def test_random_bytes_get_a_verdict(beginning, rest, packed, tmp_path: Path, small: FastaReference):
    content = gzip.compress(beginning + rest) if packed else beginning + rest
    judge(tmp_path / "any", content, reference=small, limits=LIMITS)


@RELAXED
@given(rows=ROWS)
def test_rows_of_plausible_fields_get_a_true_verdict(rows, tmp_path: Path, small: FastaReference):
    text = HEAD + "".join(row(*fields) + "\n" for fields in rows).encode()
    require_truth(judge(tmp_path / "a.vcf", text, reference=small, limits=LIMITS), small)


@pytest.mark.parametrize("name", ["rcrs/hmtnote_multisample.vcf", "bad/symbolic_alleles.vcf"])
@RELAXED
@given(data=st.data())
def test_mutated_real_files_get_a_true_verdict(name, data, tmp_path: Path, rcrs: FastaReference, lexa: FastaReference):
    reference, sample = (rcrs, "SRR1777294") if name.startswith("rcrs") else (lexa, None)
    text = bytearray((DEMO / name).read_bytes()[:8_000])
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text) - 1))
        piece = data.draw(st.sampled_from([b"", b"\t", b"\n", b"\0", b"N", b"<DEL>", b"\xff", b",", b"/", b"9" * 30]))
        text[start : start + data.draw(st.integers(0, 40))] = piece
    require_truth(judge(tmp_path / "a.vcf", bytes(text), reference=reference, sample=sample, limits=LIMITS), reference)


@RELAXED
@given(data=st.data(), kind=st.sampled_from(["fa", "fq"]))
def test_mutated_sequences_get_a_verdict(data, kind, tmp_path: Path):
    text = bytearray(b">a b\nACGTN\nacgu\n>c\nTTTT\n" if kind == "fa" else b"@a\nACGT\n+\nIIII\n@b\nTTGG\n+b\n@+II\n")
    start = data.draw(st.integers(0, len(text) - 1))
    text[start : start + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=3))
    judge(tmp_path / f"a.{kind}", bytes(text), limits=LIMITS)
