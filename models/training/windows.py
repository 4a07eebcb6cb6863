"""Random training windows, each with the coordinates it came from, so that a test can see what training reads."""

from collections.abc import Sequence

import numpy as np

from models.training.genome import Codes
from models.training.orfs import Frame


class WindowSampler:
    """Windows in sense orientation; a span is drawn in proportion to the number of windows it holds."""

    def __init__(self, genome: Codes, spans: Sequence[Frame], *, length: int, seed: int) -> None:
        self._length = length
        self._spans = [span for span in spans if span.end - span.start + 1 >= length]
        self._sequences = [span.sense(genome) for span in self._spans]
        places = np.array([len(sequence) - length + 1 for sequence in self._sequences], np.float64)
        self._share = places / places.sum()
        self._random = np.random.default_rng(seed)

    def draw(self, count: int) -> tuple[list[Frame], Codes]:
        """Coordinates of `count` windows, and the windows (count, length)."""
        chosen = self._random.choice(len(self._spans), size=count, p=self._share)
        offsets = [int(self._random.integers(len(self._sequences[span]) - self._length + 1)) for span in chosen]
        places = [self._place(self._spans[span], offset) for span, offset in zip(chosen, offsets, strict=True)]
        windows = [self._sequences[span][offset : offset + self._length] for span, offset in zip(chosen, offsets, strict=True)]
        return places, np.stack(windows)

    def _place(self, span: Frame, offset: int) -> Frame:
        if span.strand == "+":
            start = span.start + offset
            return Frame(start, start + self._length - 1, "+")
        end = span.end - offset
        return Frame(end - self._length + 1, end, "-")
