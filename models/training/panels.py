"""Seeded panels drawn from held-out genes. A window lies wholly inside the coding bases of one gene, in sense orientation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from models.training.genome import LETTERS, Codes, encode
from models.training.shuffle import dinucleotide_shuffle

_ORDER = "TCAG"
_ACIDS = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"  # NCBI table 11 translates as table 1 does
ACID = {
    tuple(encode(a + b + c).tolist()): _ACIDS[16 * i + 4 * j + k]
    for i, a in enumerate(_ORDER)
    for j, b in enumerate(_ORDER)
    for k, c in enumerate(_ORDER)
}
VARIANTS = ("synonymous", "missense", "nonsense")
DELETIONS = (1, 2, 3, 6)


@dataclass(frozen=True)
class Pair:
    gene: int  # index into the genes the panel was drawn from
    reference: Codes
    alternate: Codes  # as long as the reference


def consequence(codon: Codes, place: int, base: int) -> str:
    """What changing one base of a codon does."""
    changed = codon.copy()
    changed[place] = base
    before, after = ACID[tuple(codon.tolist())], ACID[tuple(changed.tolist())]
    if after == before:
        return "synonymous"
    return "nonsense" if after == "*" else "missense"


def variant_panel(genes: Sequence[Codes], *, window: int, a_kind: int, seed: int) -> dict[str, list[Pair]]:
    """Distinct single-base variants at the middle of their window, the same number of each kind."""
    panel: dict[str, list[Pair]] = {kind: [] for kind in VARIANTS}
    seen = set()
    random = np.random.default_rng([seed, window])
    for gene, position in _positions(genes, window, 0, random):
        coding = genes[gene]
        base = int(random.choice([code for code in range(len(LETTERS)) if code != coding[position]]))
        begin = position - position % 3
        pairs = panel[consequence(coding[begin : begin + 3], position % 3, base)]
        if len(pairs) < a_kind and (gene, position, base) not in seen:
            seen.add((gene, position, base))
            reference = coding[position - window // 2 : position + window // 2]
            alternate = reference.copy()
            alternate[window // 2] = base
            pairs.append(Pair(gene, reference, alternate))
        if all(len(pairs) == a_kind for pairs in panel.values()):
            break
    return panel


def deletion_panel(genes: Sequence[Codes], *, window: int, a_kind: int, seed: int) -> dict[int, list[Pair]]:
    """Deletions of 1, 2, 3 and 6 bases at the same codon borders; the window takes in following bases to stay as long."""
    panel: dict[int, list[Pair]] = {size: [] for size in DELETIONS}
    random = np.random.default_rng([seed, window, 1])
    for gene, position in _positions(genes, window, max(DELETIONS), random):
        coding, border = genes[gene], position - position % 3
        if border < window // 2:
            continue
        left, reference = coding[border - window // 2 : border], coding[border - window // 2 : border + window // 2]
        for size, pairs in panel.items():
            right = coding[border + size : border + size + window // 2]
            pairs.append(Pair(gene, reference, np.concatenate([left, right])))
        if len(panel[1]) == a_kind:
            break
    return panel


def shuffle_panel(genes: Sequence[Codes], *, window: int, count: int, seed: int) -> dict[str, list[Pair]]:
    """In-frame windows of real genes beside the same codons, dinucleotides and bases in random order; `window` is whole codons."""
    random = np.random.default_rng([seed, window])
    orders: dict[str, Callable[[Codes], Codes]] = {
        "codons": lambda real: random.permutation(real.reshape(-1, 3)).reshape(-1),
        "dinucleotides": lambda real: dinucleotide_shuffle(real, random),
        "bases": random.permutation,
    }
    panel: dict[str, list[Pair]] = {name: [] for name in orders}
    for gene, position in _positions(genes, window, 3, random):
        begin = (position - window // 2) // 3 * 3
        real = genes[gene][begin : begin + window]
        for name, shuffled in orders.items():
            panel[name].append(Pair(gene, real, shuffled(real)))
        if len(panel["codons"]) == count:
            break
    return panel


def _positions(genes: Sequence[Codes], window: int, spare: int, random: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Endless draws: a gene, long ones as often as short ones, and a position with half a window on either side."""
    half = window // 2
    long_enough = [gene for gene, coding in enumerate(genes) if len(coding) - half - spare > half]
    while True:
        gene = int(random.choice(long_enough))
        yield gene, int(random.integers(half, len(genes[gene]) - half - spare))
