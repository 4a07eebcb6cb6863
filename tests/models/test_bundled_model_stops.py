"""The term that keeps stops out of open frames knows where they could stand."""

import math

import numpy as np
import pytest
import torch

from models.training.genome import decode, encode
from models.training.stops import CEILING, forbidden_bases, stop_penalty


def forbidden(sequence):
    """(place, base) of every base that would complete a stop codon."""
    marks = forbidden_bases(encode(sequence)[None])[0]
    return {(int(place), decode(np.array([base], np.uint8))) for place, base in np.argwhere(marks)}


@pytest.mark.parametrize(
    ("sequence", "marked"),
    [
        ("TAC", {(2, "A"), (2, "G")}),
        ("TGG", {(2, "A")}),
        ("CTAC", {(3, "A"), (3, "G")}),  # another phase
        ("TACTAA", set()),  # the phase holds a stop, so it is no open frame
        ("TCA", set()),
    ],
)
def test_only_stops_in_an_open_phase_are_forbidden(sequence, marked):
    assert forbidden(sequence) == marked


@pytest.mark.parametrize(("share", "expected"), [(CEILING / 10, 0.0), (CEILING * math.e, 1.0)])
def test_the_penalty_is_the_excess_of_the_log_probability_over_the_ceiling(share, expected):
    windows = encode("TGG")[None]
    probabilities = torch.full((1, 3, 8), (1 - share) / 7)
    probabilities[0, 2, 3] = share  # A after TG
    assert stop_penalty(probabilities.log(), windows).item() == pytest.approx(expected, abs=1e-5)
