"""The reference reads the same bases whatever the file looks like."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from orders.intake import FastaReference, ReferenceUnusable
from orders.intake.reference import BLOCK

LONG = "ACGTTGCAAC" * 15_000  # several blocks


@pytest.fixture
def plain(tmp_path: Path) -> FastaReference:
    path = tmp_path / "plain.fa"
    path.write_text(f">c text\n{LONG}\n")
    return FastaReference(path)


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 1), (BLOCK - 1, BLOCK + 1), (BLOCK, 2 * BLOCK), (0, len(LONG)), (-5, 3), (len(LONG) - 2, len(LONG) + 9), (9, 9)],
)
def test_fetch_agrees_with_the_text_across_block_borders(plain: FastaReference, start, end):
    assert plain.fetch("c", start, end) == LONG[max(start, 0) : end]


def test_the_digest_looks_at_bases_only(plain: FastaReference, tmp_path: Path):
    path = tmp_path / "packed.fa.gz"
    with pysam.BGZFile(str(path), "w") as file:
        file.write((">c\n" + "\n".join(LONG[i : i + 70].lower() for i in range(0, len(LONG), 70)) + "\n").encode())
    assert FastaReference(path).digest == plain.digest


def test_another_base_or_another_name_is_another_digest(plain: FastaReference, tmp_path: Path):
    digests = set()
    for name, text in (("base", f">c\n{LONG[:-1]}A\n"), ("name", f">d\n{LONG}\n")):
        path = tmp_path / f"{name}.fa"
        path.write_text(text)
        digests.add(FastaReference(path).digest)
    assert len(digests | {plain.digest}) == 3


def test_given_aliases_resolve(tmp_path: Path):
    path = tmp_path / "a.fa"
    path.write_text(">NC_1\nACGT\n")
    reference = FastaReference(path, aliases={"NC_1": ("main",)})
    assert [reference.resolve(name) for name in ("NC_1", "main", "other")] == ["NC_1", "NC_1", None]


def test_a_reference_that_cannot_be_read_says_which(tmp_path: Path):
    with pytest.raises(ReferenceUnusable, match=r"missing\.fa"):
        FastaReference(tmp_path / "missing.fa")
