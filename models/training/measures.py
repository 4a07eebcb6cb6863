"""The measures of the model card, each a function of the network and the held-out genes."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from models.training import panels
from models.training.auroc import Auroc, Scored, auroc
from models.training.copies import Gene
from models.training.genome import GENOME_END, TRAINING_END, Codes
from models.training.markov import Markov
from models.training.network import Llama
from models.training.orfs import Frame, training_spans
from models.training.panels import Pair
from models.training.scoring import Reals, bits, log_likelihoods

Kind = TypeVar("Kind", bound=Hashable)

ORDERS = (2, 4, 5, 6, 7, 8)
PANEL_ORDER = 5  # of the chain that scores the variants beside the model


@dataclass(frozen=True)
class Width:
    """How much is measured on windows of one length; the quick scale measures no deletions and no shuffles."""

    bases: int
    variants: int  # of each kind
    deletions: int  # of each size
    shuffles: int


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    name: str
    stride: int  # every which window of the held-out genes
    widths: tuple[Width, ...]
    seed: int = 1


FULL = Scale("full", stride=1, widths=(Width(512, 300, 200, 100), Width(2_048, 150, 100, 50)))
QUICK = Scale("quick", stride=18, widths=(Width(512, 50, 0, 0),))
SURROUNDED = Width(2_046, 100, 0, 0)  # half of it is whole codons


def bits_per_base(network: Llama, genome: Codes, genes: Sequence[Gene], length: int, stride: int) -> dict[str, Any]:
    """Model and Markov chains on the same bases: held-out genes with their flanks, cut into windows."""
    cut = [(window, gene.copied) for gene in genes for window in _windows(gene, genome, length)][::stride]
    windows, unseen = [window for window, _ in cut], np.array([not copied for _, copied in cut])
    model = bits(network, windows)
    chain = {str(order): trained_chain(genome).bits(windows, order) for order in ORDERS}
    return {
        "window": length,
        "windows": int(unseen.sum()),
        "model": _mean(model[unseen]),
        "model_second_half": _mean(model[unseen, length // 2 :]),
        "markov": {order: _mean(values[unseen]) for order, values in chain.items()},
        "windows_with_copies": len(windows),
        "model_with_copies": _mean(model),
        "model_second_half_with_copies": _mean(model[:, length // 2 :]),
        "markov_with_copies": {order: _mean(values) for order, values in chain.items()},
    }


def variant_effects(network: Llama, genes: Sequence[Codes], genome: Codes, width: Width, seed: int) -> dict[str, Any]:
    """Delta of the summed log-likelihood by kind, and how well minus delta tells kinds apart; the chain beside the model."""
    panel = panels.variant_panel(genes, window=width.bases, a_kind=width.variants, seed=seed)
    chain = trained_chain(genome)
    model = {kind: _delta(network, pairs) for kind, pairs in panel.items()}
    plain = {kind: _chain_delta(chain, pairs) for kind, pairs in panel.items()}
    return {
        "window": width.bases,
        "mean_delta": {kind: _mean(delta) for kind, delta in model.items()},
        "nonsense": _apart(model, panel, "nonsense", "synonymous", seed),
        "missense": _apart(model, panel, "missense", "synonymous", seed),
        "markov_order": PANEL_ORDER,
        "markov_nonsense": _apart(plain, panel, "nonsense", "synonymous", seed),
        "markov_missense": _apart(plain, panel, "missense", "synonymous", seed),
    }


def deletion_effects(network: Llama, genes: Sequence[Codes], width: Width, seed: int) -> dict[str, Any]:
    """Deletions that shift the frame against deletions of whole codons, at the same places."""
    panel = panels.deletion_panel(genes, window=width.bases, a_kind=width.deletions, seed=seed)
    before = log_likelihoods(network, [pair.reference for pair in panel[1]])
    delta = {size: log_likelihoods(network, [pair.alternate for pair in pairs]) - before for size, pairs in panel.items()}
    return {
        "window": width.bases,
        "mean_delta": {str(size): _mean(values) for size, values in delta.items()},
        "frameshift": {
            f"{shift} against {whole}": _apart(delta, panel, shift, whole, seed) for shift in (1, 2) for whole in (3, 6)
        },
    }


def real_against_shuffled(network: Llama, genes: Sequence[Codes], width: Width, seed: int) -> dict[str, Any]:
    """Log-likelihood of real in-frame windows against their own codons, dinucleotides and bases in random order."""
    window = width.bases - width.bases % 3
    panel = panels.shuffle_panel(genes, window=window, count=width.shuffles, seed=seed)
    place = np.array([pair.gene for pair in panel["codons"]])
    real = Scored(log_likelihoods(network, [pair.reference for pair in panel["codons"]]), place)
    shuffled = {name: log_likelihoods(network, [pair.alternate for pair in pairs]) for name, pairs in panel.items()}
    against = {name: rounded(auroc(real, Scored(scores, place), seed=seed)) for name, scores in shuffled.items()}
    return {"window": window, **against}


def unseen_coding_sequences(genes: Sequence[Gene], genome: Codes) -> list[Codes]:
    """Held-out genes that are no copies, from start codon to the last codon before the stop."""
    return [gene.frame.sense(genome)[:-3] for gene in genes if not gene.copied]


def unseen_surrounded(genes: Sequence[Gene], genome: Codes, around: int) -> list[Codes]:
    """The same with `around` bases before and behind, whole codons, of genes that have as many in the held-out part."""
    frames = [gene.frame.without_stop() for gene in genes if not gene.copied]
    wide = [Frame(frame.start - around, frame.end + around, frame.strand) for frame in frames]
    return [frame.sense(genome) for frame in wide if frame.start > TRAINING_END and frame.end <= GENOME_END]


def trained_chain(genome: Codes) -> Markov:
    """The chain on exactly the bases that training draws its windows from."""
    return _chain(genome.tobytes())


@cache
def _chain(genome: bytes) -> Markov:
    codes = np.frombuffer(genome, np.uint8)
    return Markov.fit([span.sense(codes) for span in training_spans(codes)], max(ORDERS))


def _windows(gene: Gene, genome: Codes, length: int) -> list[Codes]:
    """One after the other from 60 bases before the gene, a shorter rest left out."""
    span = gene.frame.with_flanks(first=TRAINING_END + 1, last=GENOME_END).sense(genome)
    return [span[begin : begin + length] for begin in range(0, len(span) - length + 1, length)]


def _delta(network: Llama, pairs: Sequence[Pair]) -> Reals:
    after = log_likelihoods(network, [pair.alternate for pair in pairs])
    return after - log_likelihoods(network, [pair.reference for pair in pairs])


def _chain_delta(chain: Markov, pairs: Sequence[Pair]) -> Reals:
    before = chain.bits([pair.reference for pair in pairs], PANEL_ORDER).sum(axis=1)
    after = chain.bits([pair.alternate for pair in pairs], PANEL_ORDER).sum(axis=1)
    out: Reals = (before - after) * np.log(2)
    return out


def _apart(delta: dict[Kind, Reals], panel: dict[Kind, list[Pair]], positive: Kind, negative: Kind, seed: int) -> dict[str, Any]:
    """A lower delta counts as more damaging."""
    of = {kind: Scored(-delta[kind], np.array([pair.gene for pair in panel[kind]])) for kind in (positive, negative)}
    return rounded(auroc(of[positive], of[negative], seed=seed))


def _mean(values: Reals) -> float:
    return round(float(values.mean()), 4)


def rounded(area: Auroc) -> dict[str, Any]:
    return {name: round(value, 4) for name, value in asdict(area).items()}
