"""The annotations of the demonstration, and an oracle for consequences: every single-base change of a real gene."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from registry import annotation_admission, files
from registry.annotations.consequences import Change, Consequences
from registry.models import Annotation, Reference
from registry.services import register_reference
from tests.services import ROOT

pytestmark = pytest.mark.django_db
DEMO = ROOT / "demo"
NAMES = {"stop gained": "nonsense", "start lost": "start_lost", "stop lost": "stop_lost", "stop retained": "synonymous"}


def annotated(stem: str, contig: str, length: int) -> Annotation:
    reference = Reference.objects.filter(path=f"demo/{stem}.fa").first() or register_reference(
        name=stem, description="", path=f"demo/{stem}.fa", digest=stem, contigs=[{"name": contig, "length": length, "aliases": []}]
    )
    made, _ = annotation_admission.admit(DEMO / f"{stem}.gff3", name=stem, reference=reference)
    return made


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path


def test_every_single_base_change_of_lexa_has_the_effect_that_the_genetic_code_gives_it() -> None:
    annotation = annotated("ecoli/ecoli536_lexA", "NC_008253.1_4450001-4510000", 60_000)
    rows = [line.split("\t") for line in (DEMO / "ecoli/lexA_every_snv.vcf").read_text().splitlines() if line[0] != "#"]
    worked_out = Consequences(files.transcripts(annotation), files.fasta(annotation.reference), annotation.codes)
    said = worked_out.of([Change(row[0], int(row[1]), row[3], row[4]) for row in rows])
    found = [words.partition(" lexA")[0] for words in said]
    expected = [row[7].removeprefix("EFFECT=") for row in rows]
    differing = Counter(
        (NAMES.get(one, one), other) for one, other in zip(found, expected, strict=True) if NAMES.get(one, one) != other
    )
    assert len(rows) == 1827
    assert not differing


def test_mitochondrial_genes_are_proven_under_their_own_code() -> None:
    annotation = annotated("rcrs/rcrs", "MT", 16_569)
    assert (annotation.codes, annotation.facts["coding"]) == ({"MT": 2}, 13)
    worked_out = Consequences(files.transcripts(annotation), files.fasta(annotation.reference), annotation.codes)
    (melas, lhon) = worked_out.of([Change("MT", 3243, "A", "G"), Change("MT", 11778, "G", "A")])
    assert melas == "intergenic"  # a tRNA, and none is listed
    assert lhon == "missense MT-ND4 340R>340H"  # the gene lends its one transcript its name, which is not said again
