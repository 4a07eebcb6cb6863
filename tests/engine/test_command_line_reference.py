"""The reference of the command line: read at any place through an index, whatever its size, and nothing is written beside it."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pysam
import pytest

from engine.command_line import reference
from engine.errors import InvalidRequest
from tests.engine.vcf_cases import BASES, write_reference


def test_it_is_read_at_any_place_in_upper_case(tmp_path: Path) -> None:
    with reference.opened(write_reference(tmp_path)) as file:
        assert file.lengths == {"one": 900, "two": 602}
        assert (file.fetch("one", 440, 460), file.fetch("two", 298, 304)) == (BASES[440:460], BASES[298:300] + "NR" + BASES[:2])
        assert (file.fetch("one", 0, 900), file.fetch("one", 5, 5)) == (BASES, "")


def test_bases_across_the_pieces_it_is_read_in_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "_TILE", 7)
    with reference.opened(write_reference(tmp_path)) as file:
        assert [file.fetch("one", start, start + 20) for start in range(880)] == [BASES[at : at + 20] for at in range(880)]


@pytest.mark.parametrize("kind", ["plain", "plain with an index", "bgzip", "bgzip with an index", "gzip"])
def test_every_kind_of_file_has_the_same_bases_and_digest(tmp_path: Path, kind: str) -> None:
    path = write_reference(tmp_path)
    if kind.startswith("bgzip"):
        pysam.tabix_compress(str(path), f"{path}.gz")
        path = Path(f"{path}.gz")
    if kind == "gzip":
        path.write_bytes(gzip.compress(path.read_bytes()))
    if kind.endswith("index"):
        pysam.faidx(str(path))
    before = sorted(tmp_path.iterdir())
    text = f">one\n{BASES}\n>two\n{BASES[:300]}NR{BASES[:300]}\n"
    with reference.opened(path) as file:
        assert file.digest() == hashlib.sha256(text.encode()).hexdigest()
        assert file.fetch("one", 100, 200) == BASES[100:200]
    assert sorted(tmp_path.iterdir()) == before


def test_an_index_older_than_its_file_is_not_believed(tmp_path: Path) -> None:
    path = write_reference(tmp_path)
    pysam.faidx(str(path))
    path.write_text(f">other\n{BASES}\n")
    os.utime(f"{path}.fai", ns=(0, 0))
    with reference.opened(path) as file:
        assert file.fetch("other", 0, 900) == BASES


def test_a_large_gzip_file_is_refused_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "_SMALL", 10)
    path = tmp_path / "reference.fa.gz"
    path.write_bytes(gzip.compress(write_reference(tmp_path).read_bytes()))
    with (
        pytest.raises(InvalidRequest, match=r"gunzip -c .*reference\.fa\.gz \| bgzip > reference\.fa\.bgz"),
        reference.opened(path),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be indexed"),
        (b"ACGT\n", "cannot be indexed"),
        (b">a\nAC\nACGT\nAC\n", "equally long"),
        (b">a\nAC\n>a\nGT\n", "two sequences of one name"),
        (b">a\n>b\nAC\n", "without bases"),
        (gzip.compress(b">a\nACGT\n" * 99)[:-20], "is not whole"),
    ],
    ids=["empty", "no name", "ragged", "twice", "no bases", "cut off"],
)
def test_what_is_no_reference_is_one_line(tmp_path: Path, content: bytes, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reference.fa").write_bytes(content)
    with pytest.raises(InvalidRequest, match=words), reference.opened(tmp_path / "reference.fa"):
        pass
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("asked", "found"), [("1", "chr1"), ("chr2", "2"), ("chr1", "chr1"), ("MT", None), ("chrM", "chrM")])
def test_a_contig_goes_by_its_name_else_with_or_without_chr(tmp_path: Path, asked: str, found: str | None) -> None:
    """chrM and MT may be different sequences, so neither is taken for the other."""
    (tmp_path / "reference.fa").write_text(">chr1\nAC\n>2\nAC\n>chrM\nAC\n")
    with reference.opened(tmp_path / "reference.fa") as file:
        assert file.named(asked) == found


def test_of_two_that_would_do_the_exact_one_is_taken(tmp_path: Path) -> None:
    (tmp_path / "reference.fa").write_text(">chr1\nAC\n>1\nGT\n")
    with reference.opened(tmp_path / "reference.fa") as file:
        assert [file.named("1"), file.named("chr1")] == ["1", "chr1"]
