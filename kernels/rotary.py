"""Cosine and sine of the positions of a step, without a table as long as the context."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor

from kernels import reference
from kernels.frequencies import Frequencies

PAGE = 4096  # positions computed by one call: always the same size, so that no lane of it is ever a tail
TABLE = 32 * PAGE  # first positions, which are always at hand
KEPT = 16  # pages beyond the table


class Rotary:
    """Rows of `reference.rotary_tables` for a context of any length; memory does not grow with it."""

    def __init__(self, context: int, head_dim: int, frequencies: Frequencies) -> None:
        self._frequencies, self._magnitude = frequencies.of(head_dim), frequencies.magnitude
        self._pages: OrderedDict[int, tuple[Tensor, Tensor]] = OrderedDict()
        first = [self._computed(page) for page in range(-(-min(context, TABLE) // PAGE))]
        self._cos, self._sin = (torch.cat(tables)[: min(context, TABLE)] for tables in zip(*first, strict=True))

    def rows(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine of absolute positions: `[T] -> [T, D/2], [T, D/2]`."""
        if int(positions.max()) < len(self._cos):
            return self._cos.index_select(0, positions), self._sin.index_select(0, positions)
        cos, sin = (torch.empty(len(positions), len(self._frequencies)) for _ in range(2))
        page_of = positions // PAGE
        for page in sorted(set(page_of.tolist())):
            lines = (page_of == page).nonzero()[:, 0]
            within = positions.index_select(0, lines) - page * PAGE
            for out, table in zip((cos, sin), self._page(page), strict=True):
                out.index_copy_(0, lines, table.index_select(0, within))
        return cos, sin

    def _page(self, page: int) -> tuple[Tensor, Tensor]:
        if (page + 1) * PAGE <= len(self._cos):
            part = slice(page * PAGE, (page + 1) * PAGE)
            return self._cos[part], self._sin[part]
        if page not in self._pages:
            self._pages[page] = self._computed(page)
        self._pages.move_to_end(page)
        while len(self._pages) > KEPT:
            self._pages.popitem(last=False)
        return self._pages[page]

    def _computed(self, page: int) -> tuple[Tensor, Tensor]:
        return reference.rotary_tables(PAGE, self._frequencies, page * PAGE, self._magnitude)
