"""Traffic to try the drift monitors on: laboratories, orders of related requests, and real sequence, with and without a change.

Requests of an order share a shift and laboratories differ, so that requests are not independent: what makes p-values alarm all day.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.workloads import APP
from drift import measures
from drift.measures import Counts, Reals
from drift.streams import Window

_LABORATORIES, _ORDER = 20, 200  # requests of an order
_LABORATORY_SD, _ORDER_SD = 0.15, 0.25  # of the scores' own standard deviation; assumed, see docs/drift.md
_MIX = 50.0  # how steady the laboratories' shares are from window to window
_DRAWN = 200  # orders of a window that are drawn one by one; beyond, their common part is scaled
_GC_WINDOW, _GC_STRIDE = 512, 64


@dataclass(frozen=True, slots=True)
class Change:
    """What differs from the reference: everywhere, on two days of seven, wandering, or from window `since` on."""

    weekend: float = 0.0
    wander: float = 0.0  # standard deviation of an autoregression with 0.9
    shift: float = 0.0
    spread: float = 1.0
    since: int | None = None

    def at(self, place: int) -> tuple[float, float]:
        """Shift and spread of one window, the wander aside."""
        on = self.since is not None and place >= self.since
        return (self.weekend if place % 7 >= 5 else 0.0) + (self.shift if on else 0.0), self.spread if on else 1.0


class Simulated:
    """Scores of a standard normal within an order."""

    def __init__(self, seed: int) -> None:
        """Draw the laboratories and freeze a reference of sixty windows of 20,000."""
        self._draw = np.random.default_rng(seed)
        self._level = self._draw.normal(0, _LABORATORY_SD, _LABORATORIES)
        self._share = self._draw.dirichlet(np.full(_LABORATORIES, 5.0))
        places = np.concatenate([self._orders(100, self._mixed()) for _ in range(60)])
        sample = self._draw.normal(places.repeat(10), 1)
        edges = measures.edges_of(sample)
        self.edges: Reals = edges
        self.reference: Counts = np.sum([self._counted(20_000, 0.0, 1.0) for _ in range(60)], axis=0)

    def windows(self, name: str, size: int, number: int, change: Change) -> Iterator[Window]:
        """So many windows of `size` requests each."""
        middle = np.concatenate([[self.edges[0] - 0.4], (self.edges[1:] + self.edges[:-1]) / 2, [self.edges[-1] + 0.4]])
        level = 0.0
        for place in range(number):
            level = 0.9 * level + float(self._draw.normal(0, change.wander * np.sqrt(1 - 0.81)))
            shift, spread = change.at(place)
            counts = self._counted(size, level + shift, spread)
            yield Window(f"{name} {place}", tuple(counts.tolist()), float(counts @ middle / size))

    def _mixed(self) -> Reals:
        return self._draw.dirichlet(self._share * _MIX)

    def _orders(self, number: int, mix: Reals) -> Reals:
        chosen = self._draw.choice(_LABORATORIES, number, p=mix)
        return np.asarray(self._level[chosen] + self._draw.normal(0, _ORDER_SD, number))

    def _counted(self, size: int, shift: float, spread: float) -> Counts:
        mix, orders = self._mixed(), max(1, size // _ORDER)
        places = self._orders(min(orders, _DRAWN), mix)
        if orders > _DRAWN:  # the mean of so many orders varies less than that of those drawn
            expected = float(mix @ self._level)
            places = places - places.mean() + expected + (places.mean() - expected) * np.sqrt(_DRAWN / orders)
        below = torch.special.ndtr(torch.from_numpy((self.edges - shift - places[:, None]) / spread)).mean(0).numpy()
        shares = np.clip(np.diff(np.concatenate([[0.0], below, [1.0]])), 0, None)
        return self._draw.multinomial(size, shares / shares.sum())


class Replayed:
    """The GC content of real windows of 512 bases of chromosome 21: an order is a stretch of neighbours, ties are many.

    A window of traffic takes stretches from anywhere; a change adds to the content of each.
    """

    def __init__(self, seed: int) -> None:
        """Read the sequence and freeze a reference of sixty windows of 20,000."""
        self._draw = np.random.default_rng(seed)
        text = "".join(line for line in gzip.decompress(APP.read_bytes()).decode().splitlines() if not line.startswith(">"))
        strong = np.isin(np.frombuffer(text.upper().encode(), dtype=np.uint8), np.frombuffer(b"GC", dtype=np.uint8))
        sums = np.concatenate([[0], np.cumsum(strong)])
        starts = np.arange(0, len(strong) - _GC_WINDOW, _GC_STRIDE)
        self._content = (sums[starts + _GC_WINDOW] - sums[starts]) / _GC_WINDOW
        values = np.concatenate([self._values(20_000) for _ in range(60)])
        self.edges: Reals = measures.edges_of(values)
        self.reference: Counts = measures.counted(values, self.edges)

    def windows(self, name: str, size: int, number: int, change: Change) -> Iterator[Window]:
        """So many windows of `size` requests each."""
        for place in range(number):
            values = self._values(size) + change.at(place)[0]
            yield Window(f"{name} {place}", tuple(measures.counted(values, self.edges).tolist()), float(values.mean()))

    def _values(self, size: int) -> Reals:
        first = self._draw.integers(0, len(self._content) - _ORDER, -(-size // _ORDER))
        return np.asarray(self._content[(first[:, None] + np.arange(_ORDER)).ravel()[:size]])
