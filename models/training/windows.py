"""Random training windows, each with the coordinates it came from, so that a test can see what training reads."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.training.genome import TRAINING_END, Codes
from models.training.orfs import Frame, training_coding, training_spans


class WindowSampler:
    """Three kinds of windows of the training part, drawn by one generator; a window is a `Frame`: start, end, strand."""

    def __init__(self, genome: Codes, *, seed: int) -> None:
        self._genome = genome
        self._spans, self._coding = training_spans(genome), training_coding(genome)
        self._random = np.random.default_rng(seed)

    def inside_frames(self, count: int, length: int) -> list[Frame]:
        """Wholly inside a reading frame and its flanks, in sense; each such window is equally likely."""
        return self._inside(self._spans, count, length)

    def inside_coding(self, count: int, length: int) -> list[Frame]:
        """Wholly between the first base of a reading frame and its stop codon, in sense; each such window is equally likely."""
        return self._inside(self._coding, count, length)

    def anywhere(self, count: int, length: int) -> list[Frame]:
        """Anywhere in the training part, on either strand."""
        begins = self._random.integers(1, TRAINING_END - length + 2, size=count).tolist()
        strands = self._random.choice(["+", "-"], size=count).tolist()
        return [Frame(begin, begin + length - 1, strand) for begin, strand in zip(begins, strands, strict=True)]

    def read(self, places: Sequence[Frame]) -> Codes:
        """The windows (count, length) at places of one length."""
        return np.stack([place.sense(self._genome) for place in places])

    @property
    def state(self) -> dict[str, Any]:
        """Where the generator stands; setting it continues a run with the windows it would have drawn."""
        return dict(self._random.bit_generator.state)

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._random.bit_generator.state = state

    def _inside(self, spans: Sequence[Frame], count: int, length: int) -> list[Frame]:
        windows = np.maximum([span.end - span.start + 2 - length for span in spans], 0)  # that each span holds
        chosen = [spans[index] for index in self._random.choice(len(spans), size=count, p=windows / windows.sum())]
        begins = [int(self._random.integers(span.start, span.end - length + 2)) for span in chosen]
        return [Frame(begin, begin + length - 1, span.strand) for begin, span in zip(begins, chosen, strict=True)]
