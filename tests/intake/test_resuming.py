"""A check that is interrupted between two records and goes on from its state ends exactly as one that was not."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pysam
import pytest

from orders import intake
from orders.intake import FastaReference, FileVerdict, Limits, ReferenceView, Verdict, packed, resuming, unpacked
from tests.intake.conftest import DEMO
from tests.intake.judging import vcf
from tests.intake.test_cases import CASES, EXPECTED, reference_of

SMALL = Limits(batch=1, remembered_variants=5, remembered_names=4, ratio_floor=1 << 10)


def judged(
    path: Path, reference: ReferenceView | None, sample: str | None, limits: Limits = SMALL, *, deaths: Iterator[bool] | None = None
) -> tuple[list[Verdict], FileVerdict, int]:
    """Verdicts and summary; at each `True` of `deaths` the check is thrown away and another one goes on from its state."""
    verdicts: list[Verdict] = []
    state, resumptions = None, 0
    while True:
        asked = {"filename": path.name, "reference": reference, "sample": sample, "limits": limits}
        check = intake.check(path, **asked, state=state)  # type: ignore[arg-type]
        assert check.resumed == (state is not None)
        for batch in check.batches(limits.batch):
            verdicts += batch
            if deaths and check.state and next(deaths):
                state, resumptions = unpacked(packed(check.state)), resumptions + 1
                break
        else:
            return verdicts, check.summary, resumptions


def require_the_same(
    path: Path, reference: ReferenceView | None, sample: str | None = None, *, seed: int = 0, limits: Limits = SMALL
) -> int:
    drawn = random.Random(seed)
    plain = judged(path, reference, sample, limits)
    again = judged(path, reference, sample, limits, deaths=iter(lambda: drawn.random() < 0.6, None))
    assert again[:2] == plain[:2]
    return again[2]


@pytest.mark.skipif(not CASES.is_dir(), reason="the folder ../shared/cases is not on this machine")
def test_every_case_ends_the_same_wherever_it_was_interrupted(tmp_path: Path):
    resumptions = 0
    for number, case in enumerate(EXPECTED):
        folder = tmp_path / str(number)
        folder.mkdir()
        reference = reference_of(case, folder)
        resumptions += require_the_same(CASES / case["file"], reference, case.get("sample"), seed=number)
    assert resumptions > 100


@pytest.mark.parametrize("form", ["plain", "gzip", "bgzip", "members"])
def test_a_file_of_several_samples_ends_the_same_in_every_compression(tmp_path: Path, rcrs: FastaReference, form: str):
    text = (DEMO / "rcrs" / "hmtnote_multisample.vcf").read_bytes()
    head, _, body = text.partition(b"\n#CHROM")
    columns, _, rows = body.partition(b"\n")
    text = head + b"\n#CHROM" + columns + b"\n" + rows * 20
    path = tmp_path / "many.vcf"
    if form == "bgzip":
        with pysam.BGZFile(str(path), "w") as file:
            file.write(text)
    else:
        pieces = [text[at : at + 50_000] for at in range(0, len(text), 50_000)] if form == "members" else [text]
        path.write_bytes(text if form == "plain" else b"".join(map(gzip.compress, pieces)))
    assert require_the_same(path, rcrs, "SRR1777294", limits=Limits(batch=20)) > 3


def test_a_block_compressed_file_is_gone_on_with_from_its_last_block(tmp_path: Path, small: FastaReference):
    path = tmp_path / "a.vcf.gz"
    with pysam.BGZFile(str(path), "w") as file:
        file.write(vcf(*(f"1 {n % 60 + 1} . N . . PASS {random.Random(n).randbytes(200).hex()}" for n in range(2_000))).encode())
    check = intake.check(path, filename="a.vcf.gz", reference=small, limits=Limits(batch=100))
    states = [check.state for _ in check.batches(1_500) if check.state]
    start, (_, offset) = intake.Place(*states[0]["place"]), states[0]["at"]
    assert start.packed > path.stat().st_size // 2
    assert offset - 2 * (64 << 10) < start.text <= offset


@pytest.mark.parametrize("change", [{"format": resuming.FORMAT + 1}, {"under": {}}], ids=["unknown format", "other limits"])
def test_a_state_of_another_version_is_not_gone_on_from(tmp_path: Path, small: FastaReference, change: dict[str, object]):
    path = tmp_path / "a.vcf"
    path.write_text(vcf(*["1 1 . A C . PASS ."] * 9))
    check = intake.check(path, filename="a.vcf", reference=small, limits=SMALL)
    next(check.batches(3))
    assert check.state
    state = unpacked(packed({**check.state, **change}))
    fresh = intake.check(path, filename="a.vcf", reference=small, limits=SMALL, state=state)
    assert not fresh.resumed
    assert fresh.run().items == 9


def test_bytes_that_are_no_state_are_none():
    assert [unpacked(data) for data in (b"", b"x", packed({"format": 0}))] == [None] * 3
