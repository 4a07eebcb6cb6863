"""What a call of the benchmarks asked for."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.comparing import QUICK_ROUNDS, ROUNDS
from benchmarks.peer import Precision


@dataclass(frozen=True, slots=True)
class Options:
    """`peers` None: all that are installed, and none when quick."""

    precision: Precision = "fp32"
    quick: bool = False
    whole: bool = False
    peers: tuple[str, ...] | None = None
    rounds_wanted: int = 0

    @property
    def rounds(self) -> int:
        """Rounds of an alternation."""
        return self.rounds_wanted or (QUICK_ROUNDS if self.quick else ROUNDS)

    @property
    def rivals(self) -> tuple[str, ...] | None:
        """Names of the peers wanted, None for all."""
        return () if self.quick and self.peers is None else self.peers
