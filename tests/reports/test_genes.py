"""The gene track, from the gene file that the demonstration brings."""

from types import SimpleNamespace

import pytest

from registry.models import Reference
from reports import genes, svg
from reports.content import Gene
from reports.locus import Point
from tests.services import ROOT

CONTIG = "NC_008253.1_4450001-4510000"
REFERENCE = Reference(annotation_path="demo/ecoli/ecoli536_lexA.genes.tsv")


@pytest.fixture
def variants():
    rows = [line.split("\t") for line in (ROOT / "demo/ecoli/lexA_200.vcf").read_text().splitlines() if not line.startswith("#")]
    return [SimpleNamespace(contig=row[0], position=int(row[1]), ref=row[3], end_position=0) for row in rows]


def test_the_genes_that_the_variants_lie_in_are_found_in_the_demo_gene_file(variants):
    found = genes.overlapping(REFERENCE, variants)
    first, last = min(v.position for v in variants), max(v.position for v in variants)
    assert found and all(gene.contig == CONTIG and gene.start <= last + 1 and gene.end >= first for gene in found)
    listed = (ROOT / REFERENCE.annotation_path).read_text().splitlines()[1:]
    assert len(found) < len(listed)
    assert all("\t".join(map(str, (g.contig, g.start, g.end, g.strand, g.name))) in listed for g in found)


def test_the_picture_of_the_demo_order_names_them(variants):
    drawn = svg.draw([Point(v.contig, v.position, -1.0, "A>C") for v in variants], genes.overlapping(REFERENCE, variants))
    widest = max(genes.overlapping(REFERENCE, variants), key=lambda gene: gene.end - gene.start)
    assert widest.name in drawn


def test_another_contig_has_none_of_them():
    elsewhere = [SimpleNamespace(contig="chr1", position=4000, ref="A", end_position=0)]
    assert genes.overlapping(REFERENCE, elsewhere) == []
    assert genes.overlapping(REFERENCE, [SimpleNamespace(contig=CONTIG, position=100, ref="A", end_position=0)]) == [
        Gene(CONTIG, 35, 787, "+", "orf_35")
    ]
