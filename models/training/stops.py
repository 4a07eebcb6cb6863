"""A term of the loss that keeps stop codons out of open reading frames, for windows that end before the stop of theirs.

What never follows is hardly ever corrected: the gradient of the plain loss vanishes with the probability of the wrong base, so a
small model keeps finding stops too likely where they could stand. This term keeps its strength until `CEILING` is reached.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from models.training.genome import LETTERS, Codes
from models.training.network import FIRST_BASE

CEILING = math.exp(-9)  # of the probability of a base that would complete a stop codon
A, G, T = (LETTERS.index(letter) for letter in "AGT")


def forbidden_bases(windows: Codes) -> NDArray[np.bool_]:
    """Which bases would complete a stop codon in a phase that has none in the window; (n, length) to (n, length, 4)."""
    first, second, third = windows[:, :-2], windows[:, 1:-1], windows[:, 2:]
    after_ta, after_tg = (first == T) & (second == A), (first == T) & (second == G)
    stop = (after_ta & ((third == A) | (third == G))) | (after_tg & (third == A))
    forbidden = np.zeros((*windows.shape, len(LETTERS)), np.bool_)
    for phase in range(3):
        is_open = ~stop[:, phase::3].any(axis=1, keepdims=True)
        forbidden[:, phase + 2 :: 3, A] = is_open & (after_ta | after_tg)[:, phase::3]
        forbidden[:, phase + 2 :: 3, G] = is_open & after_ta[:, phase::3]
    return forbidden


def stop_penalty(logits: Tensor, windows: Codes) -> Tensor:
    """By how much the log-probabilities of forbidden bases exceed that of the ceiling, summed; logits (n, length, vocabulary)."""
    bases = F.log_softmax(logits.float(), dim=-1)[..., FIRST_BASE : FIRST_BASE + len(LETTERS)]
    return F.relu(bases[torch.from_numpy(forbidden_bases(windows))] - math.log(CEILING)).sum()
