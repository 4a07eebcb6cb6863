"""How many tokens a step may compute while memory is short."""

from __future__ import annotations

_PATIENCE = 64  # clean steps before more is tried again: a machine that ran short stays short for a while


class Budget:
    """Between `floor` and `limit`: halved after a step that ran out of memory, doubled again after a while of clean ones."""

    def __init__(self, limit: int, floor: int, patience: int = _PATIENCE) -> None:
        self.limit, self.floor, self._patience = limit, min(floor, limit), patience
        self.now = limit
        self.shortages = 0  # steps that ran out of memory
        self._clean = 0

    def note(self, *, short: bool) -> None:
        """A step computed something; `short` when memory ran out on its way."""
        if short:
            self.shrink()
        else:
            self.clean_step()

    def shrink(self) -> None:
        """A step ran out of memory."""
        self.shortages += 1
        self._clean = 0
        self.now = max(self.floor, self.now // 2)

    def clean_step(self) -> None:
        """A step that computed something found the memory it needed."""
        if self.now == self.limit:
            return
        self._clean += 1
        if self._clean == self._patience:
            self._clean = 0
            self.now = min(self.limit, self.now * 2)
