"""Random orders of a sequence that keep every dinucleotide as often as it is (Altschul and Erickson, 1985).

A sequence is a walk over its letters in which each dinucleotide is an edge. Any order of the edges that leave a letter gives
another walk over the same edges, as long as the edges taken last lead from every letter to the last letter of the sequence.
"""

import numpy as np

from models.training.genome import Codes


def dinucleotide_shuffle(sequence: Codes, random: np.random.Generator) -> Codes:
    """Another order with the same first letter, last letter and dinucleotide counts; every such order is equally likely."""
    leaving = {int(letter): sequence[1:][sequence[:-1] == letter] for letter in np.unique(sequence[:-1])}
    end = int(sequence[-1])
    last = _last_edges(leaving, end, random)
    order = {}
    for letter, followers in leaving.items():
        rest = followers
        if letter in last:
            rest = np.delete(followers, int(np.flatnonzero(followers == last[letter])[0]))
        shuffled = random.permutation(rest).tolist()
        order[letter] = iter([*shuffled, last[letter]] if letter in last else shuffled)
    walk = [int(sequence[0])]
    for _ in range(len(sequence) - 1):
        walk.append(next(order[walk[-1]]))
    return np.array(walk, np.uint8)


def _last_edges(leaving: dict[int, Codes], end: int, random: np.random.Generator) -> dict[int, int]:
    """For every letter but the end one of its edges, drawn again until all of them lead to the end."""
    while True:
        last = {letter: int(random.choice(followers)) for letter, followers in leaving.items() if letter != end}
        if all(_leads(letter, end, last) for letter in last):
            return last


def _leads(letter: int, end: int, last: dict[int, int]) -> bool:
    for _ in range(len(last)):
        if letter == end:
            break
        letter = last[letter]
    return letter == end
