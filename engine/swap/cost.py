"""What giving way costs: bytes to move and move back, against tokens to compute again. Pure, and only ever an estimate: both ways
give the same bits.

What is configured holds until something has been measured: an engine that proves itself at start begins with what it measured then.
"""

from __future__ import annotations

_WEIGHT = 0.1  # of the newest measurement
_FEWEST_TOKENS = 32  # that a step must compute to tell how fast positions are computed again: drawing one by one is slower
_FEWEST_BYTES = 1 << 16  # that must be moved to tell a bandwidth


class _Rate:
    """The mean of the first few measurements, and from then on one that follows the newest."""

    def __init__(self, configured: float) -> None:
        self.value, self.measured = configured, 0

    def measure(self, count: int, seconds: float) -> None:
        self.measured += 1
        self.value += max(_WEIGHT, 1 / self.measured) * (count / seconds - self.value)


class Costs:
    """`bandwidth` in bytes a second and `rate` in tokens a second, as configured at first and then as measured."""

    def __init__(self, block_bytes: int, bandwidth: float, rate: float) -> None:
        self.block_bytes, self._bandwidth, self._rate = block_bytes, _Rate(bandwidth), _Rate(rate)

    @property
    def bandwidth(self) -> float:
        """Bytes a second between pool and arena."""
        return self._bandwidth.value

    @property
    def rate(self) -> float:
        """Tokens a second that are computed again."""
        return self._rate.value

    @property
    def measured(self) -> tuple[int, int]:
        """How many copies, and how many steps, they stand on; 0: as configured."""
        return self._bandwidth.measured, self._rate.measured

    def swap(self, blocks: int) -> float:
        """Seconds to copy so many blocks out and in again."""
        return 2 * blocks * self.block_bytes / self.bandwidth

    def recompute(self, tokens: int) -> float:
        """Seconds to compute so many tokens again."""
        return tokens / self.rate

    def copied(self, count: int, seconds: float) -> None:
        """So many bytes were copied between pool and arena in so many seconds."""
        if count >= _FEWEST_BYTES and seconds > 0:
            self._bandwidth.measure(count, seconds)

    def computed(self, tokens: int, seconds: float) -> None:
        """A step computed so many tokens in so many seconds."""
        if tokens >= _FEWEST_TOKENS and seconds > 0:
            self._rate.measure(tokens, seconds)
