"""The parts of the evaluation give right answers on inputs whose answer is known."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from models.training import machine, panels
from models.training.auroc import Scored, auroc
from models.training.card import FOLDER
from models.training.copies import copied_shares
from models.training.genome import decode, encode, reverse_complement
from models.training.markov import STRENGTH, Markov
from models.training.network import load
from models.training.scoring import bits
from models.training.shuffle import dinucleotide_shuffle

RANDOM = np.random.default_rng(7)


def scored(*values: float) -> Scored:
    return Scored(np.array(values), np.arange(len(values)))


@pytest.fixture(scope="module")
def genes():
    """Random sequences without stop codons."""
    codons = [codon for codon, acid in panels.ACID.items() if acid != "*"]
    return [np.array(codons, np.uint8)[RANDOM.integers(len(codons), size=400)].reshape(-1) for _ in range(20)]


def test_auroc_counts_pairs_with_ties_as_half():
    assert auroc(scored(3, 2), scored(1, 2), seed=0).auroc == (1 + 1 + 1 + 0.5) / 4


def test_auroc_interval_covers_one_half_when_both_sides_are_alike():
    area = auroc(scored(*RANDOM.normal(size=200)), scored(*RANDOM.normal(size=200)), seed=0)
    assert area.low < 0.5 < area.high
    assert 0.08 < area.high - area.low < 0.14  # about four standard errors of 0.029


def test_auroc_interval_widens_when_scores_come_in_genes():
    values, genes = np.repeat(RANDOM.normal(size=20), 10), np.repeat(np.arange(20), 10)
    alone = auroc(scored(*values), scored(*-values), seed=0)
    grouped = auroc(Scored(values, genes), Scored(-values, genes), seed=0)
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)


def test_markov_probabilities_follow_the_interpolation_formula():
    chain = Markov.fit([encode("ACACACAG")], 1)
    first_order = (1 + STRENGTH * (1 + STRENGTH / 4) / (8 + STRENGTH)) / (4 + STRENGTH)  # A then G, once of four
    assert 2 ** -chain.bits([encode("AG")], 1)[0, 1] == pytest.approx(first_order)


def test_markov_of_high_order_learns_a_period_that_order_zero_cannot():
    chain = Markov.fit([encode("ACGT" * 500)], 3)
    window = [encode("ACGT" * 10)]
    assert chain.bits(window, 0).mean() == pytest.approx(2.0, abs=0.01)
    assert chain.bits(window, 3)[:, 3:].mean() < 0.1


def test_markov_never_counts_across_two_sequences():
    assert Markov.fit([encode("A"), encode("C")], 1).log2[1][0, 1] == Markov.fit([encode("C"), encode("A")], 1).log2[1][0, 1]


def test_variants_sit_at_the_middle_and_are_what_they_are_called(genes):
    panel = panels.variant_panel(genes, window=256, a_kind=20, seed=0)
    for kind, pairs in panel.items():
        assert len(pairs) == 20
        for pair in pairs:
            assert np.flatnonzero(pair.reference != pair.alternate).tolist() == [128]
            assert kind == _kind_in_frame(genes[pair.gene], pair)


def _kind_in_frame(gene, pair) -> str:
    begin = decode(gene).index(decode(pair.reference))
    changed = gene.copy()
    changed[begin : begin + len(pair.alternate)] = pair.alternate
    before, after = (["".join(panels.ACID[tuple(codon)]) for codon in seq.reshape(-1, 3).tolist()] for seq in (gene, changed))
    if before == after:
        return "synonymous"
    return "nonsense" if "*" in after else "missense"


def test_deletions_remove_their_size_at_a_codon_border_and_keep_the_length(genes):
    panel = panels.deletion_panel(genes, window=256, a_kind=20, seed=0)
    for size, pairs in panel.items():
        assert len(pairs) == 20
        for pair in pairs:
            begin = decode(genes[pair.gene]).index(decode(pair.reference))
            without = np.delete(genes[pair.gene], range(begin + 128, begin + 128 + size))
            assert (begin + 128) % 3 == 0
            assert np.array_equal(pair.alternate, without[begin : begin + 256])


def test_shuffled_windows_keep_their_codons_dinucleotides_or_bases(genes):
    panel = panels.shuffle_panel(genes, window=504, count=10, seed=0)
    kept = {"codons": lambda codes: codes.reshape(-1, 3), "dinucleotides": _dinucleotides, "bases": lambda codes: codes[:, None]}
    for name, parts in kept.items():
        for pair in panel[name]:
            assert sorted(parts(pair.alternate).tolist()) == sorted(parts(pair.reference).tolist())
            assert not np.array_equal(pair.alternate, pair.reference)


def _dinucleotides(codes):
    return np.stack([codes[:-1], codes[1:]], axis=1)


def test_every_order_with_the_same_dinucleotides_is_drawn_equally_often():
    """All walks over the five edges of ACAGCA, found by trying every order."""
    sequence = encode("ACAGCA")
    edges = sorted(_dinucleotides(sequence).tolist())
    orders = {order for order in permutations(sequence.tolist()) if sorted(_dinucleotides(np.array(order)).tolist()) == edges}
    drawn = Counter(tuple(dinucleotide_shuffle(sequence, RANDOM).tolist()) for _ in range(3_000))
    assert set(drawn) == orders
    assert len(orders) > 1
    assert min(drawn.values()) > 0.9 * 3_000 / len(orders)


def test_a_copy_of_training_sequence_is_found_on_either_strand():
    genome = RANDOM.integers(4, size=5_000).astype(np.uint8)
    fresh = RANDOM.integers(4, size=200).astype(np.uint8)
    windows = [genome[100:300], reverse_complement(genome[100:300]), fresh]
    assert copied_shares(windows, genome) == [1.0, 1.0, 0.0]


def test_in_either_precision_windows_take_nearly_the_same_bits(monkeypatch):
    network, windows = load(FOLDER), list(np.random.default_rng(5).integers(4, size=(2, 300)).astype(np.uint8))
    found = []
    for halves in (True, False):
        monkeypatch.setattr(machine, "halves", lambda halves=halves: halves)
        found.append(bits(network, windows))
    assert not np.array_equal(*found)
    assert found[0].mean() == pytest.approx(found[1].mean(), abs=0.01)
