"""What giving way costs: bytes to move and move back, against tokens to compute again. Pure, and only ever an estimate: both ways
give the same bits.
"""

from __future__ import annotations

_WEIGHT = 0.1  # of the newest measurement
_FEWEST_TOKENS = 32  # that a step must compute to tell how fast positions are computed again: drawing one by one is slower
_FEWEST_BYTES = 1 << 16  # that must be moved to tell a bandwidth


class Costs:
    """`bandwidth` in bytes a second and `rate` in tokens a second, as configured at first and then as measured."""

    def __init__(self, block_bytes: int, bandwidth: float, rate: float) -> None:
        self.block_bytes, self.bandwidth, self.rate = block_bytes, bandwidth, rate

    def swap(self, blocks: int) -> float:
        """Seconds to copy so many blocks out and in again."""
        return 2 * blocks * self.block_bytes / self.bandwidth

    def recompute(self, tokens: int) -> float:
        """Seconds to compute so many tokens again."""
        return tokens / self.rate

    def copied(self, count: int, seconds: float) -> None:
        """So many bytes were copied between pool and arena in so many seconds."""
        if count >= _FEWEST_BYTES and seconds > 0:
            self.bandwidth += _WEIGHT * (count / seconds - self.bandwidth)

    def computed(self, tokens: int, seconds: float) -> None:
        """A step computed so many tokens in so many seconds."""
        if tokens >= _FEWEST_TOKENS and seconds > 0:
            self.rate += _WEIGHT * (tokens / seconds - self.rate)
