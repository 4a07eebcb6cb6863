"""`register_annotation`, and the consequence it names for each kind of change."""

import gzip
import hashlib
import os
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pysam
import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, transaction

from registry import annotation_files, files
from registry.annotations.consequences import (
    GIVEN_UP,
    INTERGENIC,
    REFUSED,
    TOOL,
    UNKNOWN,
    UNWRITTEN,
    Change,
    Consequences,
    Patience,
)
from registry.errors import FileChanged
from registry.models import Annotation, Reference
from tests.factories import by
from tests.registry import genes
from tests.registry.genes import BASES, F1, F2, R2, S1, S2, S3, S4

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def reference(tmp_path: Path, settings: Any) -> Reference:
    settings.DATA_DIR = tmp_path / "data"
    fasta = tmp_path / "one.fa"
    fasta.write_text(f">1\n{BASES}\n>MT\n{BASES.replace('TGG', 'TGA')}\n")
    call_command("register_reference", str(fasta), "--name", "tiny", "--alias", "1=one", *by(), stdout=StringIO())
    return Reference.objects.get(name="tiny")


def register(text: str, *options: str, name: str = "genes") -> Annotation:
    path = Path(str(files.fasta(Reference.objects.get(name="tiny")))).parent / "given"
    path.write_text(text)
    call_command("register_annotation", str(path), "--reference", "tiny", "--name", name, *by(), *options, stdout=StringIO())
    return Annotation.objects.get(name=name)


def refused(text: str, *options: str) -> str:
    with pytest.raises(CommandError) as error:
        register(text, *options)
    assert error.value.returncode == 2
    return str(error.value)


def said(annotation: Annotation, *changes: tuple[int, str, str], contig: str = "1") -> list[str]:
    worked_out = Consequences(files.transcripts(annotation), files.fasta(annotation.reference), annotation.codes)
    return worked_out.of([Change(contig, position, ref, alt) for position, ref, alt in changes])


def at(position: int, length: int = 1) -> str:
    return BASES[position - 1 : position - 1 + length]


EXPECTED = {
    "synonymous": ((F1 + 5, "T", "C"), "synonymous fwd 2A (T1)"),
    "missense": ((F1 + 3, "G", "C"), "missense fwd 2A>2P (T1)"),
    "nonsense": ((F1 + 6, "A", "T"), "stop gained fwd 3K>3* (T1)"),
    "start lost": ((F1, "A", "G"), "start lost fwd 1M>1V (T1)"),
    "stop lost": ((F2 - 2, "T", "C"), "stop lost fwd"),
    "frameshift": ((F1 + 5, "T", "TG"), "frameshift fwd"),
    "in-frame deletion": ((F1 + 5, "TAAA", "T"), "inframe deletion fwd"),
    "in-frame insertion": ((F1 + 5, "T", "TGCT"), "inframe insertion fwd"),
    "splice donor": ((S2 + 1, "G", "C"), "splice donor spl (T2)"),
    "splice acceptor": ((S3 - 1, "G", "C"), "splice acceptor spl (T2)"),
    "splice region": ((S2 + 5, "G", "C"), "splice region spl (T2)"),
    "intron": ((S2 + 15, "T", "C"), "intron spl"),
    "behind the intron": ((S3 + 4, "T", "C"), "missense spl"),
    "5' UTR": ((S1 - 2, "T", "G"), "5 prime utr spl"),
    "3' UTR": ((S4 + 3, "T", "G"), "3 prime utr spl"),
    "other strand": ((R2 - 3, "A", "C"), "missense rev 2W>2G (T3)"),
    "other strand, nonsense": ((R2 - 5, "C", "T"), "stop gained rev 2W>2* (T3)"),
    "outside": ((10, "T", "G"), INTERGENIC),
    "symbolic": ((F1 + 3, "G", "<DEL>"), UNKNOWN),
}


@pytest.fixture
def annotation() -> Annotation:
    return register(genes.ensembl())


def test_every_kind_of_change_is_named(annotation: Annotation) -> None:
    changes = {what: change for what, (change, _) in EXPECTED.items()}
    changes["missense"] = (F1 + 3, at(F1 + 3), "C")
    found = dict(zip(EXPECTED, said(annotation, *changes.values()), strict=True))
    for what, (_, words) in EXPECTED.items():
        assert found[what].startswith(words), (what, found[what])


def test_the_company_changes_nothing_and_the_order_is_kept(annotation: Annotation) -> None:
    changes = [change for change, _ in EXPECTED.values()]
    together = said(annotation, *changes[::-1])[::-1]
    assert together == [said(annotation, change)[0] for change in changes]


def test_a_change_that_the_tool_refuses_leaves_the_others_alone(annotation: Annotation) -> None:
    wrong = (F1 + 3, next(b for b in "ACGT" if b != at(F1 + 3)), at(F1 + 3))
    assert said(annotation, (F1 + 5, "T", "C"), wrong, (10, "T", "G"))[::2] == ["synonymous fwd 2A (T1)", INTERGENIC]


def wrong_ref() -> Change:
    """A change whose REF is not what the reference holds, which the tool refuses."""
    return Change("1", F1 + 3, next(b for b in "ACGT" if b != at(F1 + 3)), at(F1 + 3))


def test_the_search_for_refused_records_has_an_end_and_each_says_why(annotation: Annotation) -> None:
    good = Change("1", F1 + 5, "T", "C")
    worked_out = Consequences(files.transcripts(annotation), files.fasta(annotation.reference), annotation.codes)
    worked_out.patience = Patience(runs=5)
    found = worked_out.of([wrong_ref()] * 8)
    assert found == [REFUSED] * 2 + [GIVEN_UP] * 6  # eight, four, two, and two single ones
    assert worked_out.patience.runs == 0
    assert worked_out.of([good]) == ["synonymous fwd 2A (T1)"]  # what the tool takes at once costs no patience
    assert worked_out.of([wrong_ref(), good]) == [GIVEN_UP, GIVEN_UP]
    assert worked_out.of([Change("1", F1 + 3, at(F1 + 3), "<DEL>")]) == [UNWRITTEN]
    assert worked_out.unknown == Counter([*found, GIVEN_UP, GIVEN_UP, UNWRITTEN])


def test_a_search_that_takes_too_long_is_given_up(annotation: Annotation) -> None:
    worked_out = Consequences(files.transcripts(annotation), files.fasta(annotation.reference), annotation.codes)
    worked_out.patience = Patience(seconds=1e-9)
    assert set(worked_out.of([wrong_ref()] * 4)) == {GIVEN_UP}
    assert worked_out.patience.runs == 999


def test_the_form_of_an_annotation_has_a_digest_and_another_text_in_its_place_is_found(annotation: Annotation) -> None:
    path = files.transcripts(annotation)
    text = gzip.decompress(path.read_bytes())
    assert annotation.form_sha256 == hashlib.sha256(text.partition(b"\n")[2]).hexdigest()
    annotation_files.require(annotation)
    plain = path.with_name("edited.gff3")
    plain.write_bytes(text.replace(b"\tCDS\t51\t", b"\tCDS\t54\t"))
    pysam.tabix_index(str(plain), preset="gff", force=True)
    for suffix in ("", ".tbi"):
        Path(f"{plain}.gz{suffix}").replace(f"{path}{suffix}")
    for _ in range(2):
        with pytest.raises(FileChanged, match="register it again"):
            annotation_files.require(annotation)
    register(genes.ensembl())
    annotation_files.require(annotation)


@pytest.mark.parametrize("left", [b"", b"no bgzip"], ids=["empty", "other"])
def test_a_form_that_cannot_be_read_is_told_in_the_same_words(annotation: Annotation, left: bytes) -> None:
    files.transcripts(annotation).write_bytes(left)
    with pytest.raises(FileChanged, match="register it again"):
        annotation_files.require(annotation)


def test_the_genetic_code_of_a_contig_decides(annotation: Annotation) -> None:
    mitochondrial = register(genes.ensembl().replace("one\t", "MT\t"), "--code", "MT=2", name="mt")
    assert mitochondrial.codes == {"MT": 2}
    assert said(mitochondrial, (S3 + 6, "A", "G"), contig="MT") == ["synonymous spl 7W (T2)"]  # TGA is tryptophan there
    assert said(annotation, (5, "A", "C"), contig="MT") == [INTERGENIC]  # no annotation of that contig


def test_a_wrong_genetic_code_is_found_by_its_stops() -> None:
    words = refused(genes.ensembl().replace("one\t", "MT\t"))
    assert "1 of 3 proteins of MT have stops inside under genetic code 1" in words


def test_bacterial_gff_and_genbank_say_the_same(annotation: Annotation) -> None:
    change = (F1 + 6, "A", "T")
    bacterial, genbank = register(genes.bacterial(), name="gff"), register(genes.genbank(), name="gb")
    assert bacterial.codes == genbank.codes == {"1": 11}
    assert said(bacterial, change) == ["stop gained fwd 3K>3* (N1)"]
    assert said(genbank, change) == ["stop gained fwd 3K>3* (P1)"]
    assert genbank.facts["skipped"] == {"at a place that is not on this record": 1}


def test_the_same_file_again_is_the_same_row_and_another_under_its_name_is_refused(annotation: Annotation) -> None:
    assert register(genes.ensembl()) == annotation
    assert "choose another --name" in refused(genes.bacterial())
    assert "genetic code; choose another --name" in refused(genes.ensembl(), "--genetic-code", "11")


def test_a_second_name_for_a_file_leaves_what_is_read_whole_and_nothing_behind(annotation: Annotation) -> None:
    with files.transcripts(annotation).open("rb") as read:
        second = register(genes.ensembl(), name="second")
        assert os.fstat(read.fileno()).st_nlink == 0  # replaced, and not written over
    assert sorted(path.name for path in files.transcripts(second).parent.iterdir()) == [
        files.transcripts(second).name,
        f"{files.transcripts(second).name}.tbi",
    ]


def test_a_line_without_end_is_refused() -> None:
    assert "longer than 1,048,576 bytes" in refused(genes.ensembl() + "#" * (2 << 20))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("one\t", "nowhere\t"), "none of its contigs is in tiny (it has nowhere)"),
        (("##sequence-region one 1 ", "##sequence-region one 1 9"), "belongs to other sequences"),
        (("transl_table=11", "transl_table=99"), "genetic code 99 of 1 is not supported"),
        (("Parent=gene-b3;transl_table=11", "Parent=gene-b3;transl_table=4"), "tables 4 and 11; one is supported"),
    ],
    ids=["contigs", "length", "code", "two-codes"],
)
def test_what_does_not_belong_to_the_reference_is_refused(change: tuple[str, str], words: str) -> None:
    assert words in refused(genes.bacterial().replace(*change))


def test_an_annotation_shifted_by_one_base_is_found_by_its_stops() -> None:
    lines = [line.split("\t") for line in genes.ensembl().splitlines()[1:]]
    shifted = "\n".join("\t".join([*c[:3], str(int(c[3]) + 1), str(int(c[4]) + 1), *c[5:]]) for c in lines)
    assert "stops inside" in refused(shifted)


def test_the_tool_has_a_name_and_a_version() -> None:
    assert TOOL.startswith("bcftools csq 1.")


def test_the_database_keeps_an_annotation_as_it_is(annotation: Annotation) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        Annotation.objects.filter(pk=annotation.pk).update(codes={})


def test_files_that_begin_further_left_than_the_one_before_are_worked_out_all_the_same(annotation: Annotation) -> None:
    right, left = (S3 + 4, "T", "C"), (F1 + 5, "T", "C")
    assert [said(annotation, change)[0].partition(" ")[0] for change in (right, left, right)] == [
        "missense",
        "synonymous",
        "missense",
    ]
