"""The held-out genes are what they were fixed as, and training cannot reach them."""

import numpy as np
import pytest

from models.training.copies import heldout_genes
from models.training.genome import GENOME_END, TRAINING_END, Codes, decode, read_genome
from models.training.heldout import HELDOUT, HeldOutMismatch, read_heldout, sequence_hash, verified_heldout, write_heldout
from models.training.orfs import HELDOUT_MINIMUM, Frame, find_frames, training_spans
from models.training.windows import WindowSampler


@pytest.fixture(scope="module")
def genome() -> Codes:
    return read_genome()


def test_every_heldout_gene_has_the_sequence_it_was_fixed_with(genome):
    entries = read_heldout()
    assert len(entries) > 200
    assert [sequence_hash(entry.frame, genome) for entry in entries] == [entry.sha256 for entry in entries]


def test_the_list_can_be_made_again_byte_for_byte(genome, tmp_path):
    write_heldout(tmp_path / "heldout.tsv", genome)
    assert (tmp_path / "heldout.tsv").read_bytes() == HELDOUT.read_bytes()


def test_another_genome_is_refused(genome):
    changed = genome.copy()
    gene = read_heldout()[0].frame
    changed[gene.start + 10] = (changed[gene.start + 10] + 1) % 4
    with pytest.raises(HeldOutMismatch):
        verified_heldout(changed)


def test_heldout_genes_lie_in_the_heldout_region_and_read_from_start_to_stop(genome):
    for frame in verified_heldout(genome):
        sense = decode(frame.sense(genome))
        codons = [sense[place : place + 3] for place in range(0, len(sense), 3)]
        assert TRAINING_END < frame.start < frame.end <= GENOME_END
        assert frame.coding_bases >= HELDOUT_MINIMUM
        assert codons[0] in {"ATG", "GTG"}
        assert [codon in {"TAA", "TAG", "TGA"} for codon in codons] == [False] * (len(codons) - 1) + [True]


def test_training_spans_end_before_the_heldout_region(genome):
    spans = training_spans(genome)
    assert max(span.end for span in spans) <= TRAINING_END
    assert min(span.start for span in spans) >= 1


def test_training_windows_are_what_their_coordinates_say_and_never_held_out(genome):
    sampler = WindowSampler(genome, seed=0)
    places = sampler.inside_frames(2_000, 512) + sampler.inside_coding(2_000, 512) + sampler.anywhere(2_000, 512)
    assert {place.strand for place in places} == {"+", "-"}
    assert all(np.array_equal(place.sense(genome), window) for place, window in zip(places, sampler.read(places), strict=True))
    assert min(place.start for place in places) >= 1
    assert max(place.end for place in places) <= TRAINING_END


def test_heldout_genes_that_training_read_elsewhere_are_marked_as_copies(genome):
    genes = heldout_genes(genome)
    training = "N".join(decode(span.sense(genome)) for span in training_spans(genome))
    whole = {gene.frame for gene in genes if decode(gene.frame.sense(genome)) in training}
    assert whole
    assert whole < {gene.frame for gene in genes if gene.copied}


@pytest.mark.parametrize("unknown", [False, True])
def test_frames_match_a_plain_codon_by_codon_scan(genome, unknown):
    region = genome[1_000_000:1_040_000].copy()
    if unknown:
        region[np.random.default_rng(0).integers(len(region), size=100)] = 4
    found = find_frames(region, first=1, last=len(region), minimum=90)
    assert [frame for frame in found if frame.strand == "+"] == sorted(_plain_scan(decode(region), 90))


def _plain_scan(sequence: str, minimum: int) -> list[Frame]:
    found, begun = [], {0: -1, 1: -1, 2: -1}
    for place in range(len(sequence) - 2):
        codon, phase = sequence[place : place + 3], place % 3
        if codon in {"ATG", "GTG"} and begun[phase] < 0:
            begun[phase] = place
        if codon in {"TAA", "TAG", "TGA"}:
            if begun[phase] >= 0 and place - begun[phase] >= minimum:
                found.append(Frame(begun[phase] + 1, place + 3, "+"))
            begun[phase] = -1
    return found
