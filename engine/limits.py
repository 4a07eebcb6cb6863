"""What a model can take, and what stands on every outcome."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Token ids are below `vocabulary`, positions below `context`; `window` is the sliding window in tokens, or None.

    With both `window` and `layers` a state depends on the `layers` · (window - 1) tokens before its own, and on no others; without
    `layers` whoever gave way under a window begins anew.
    """

    vocabulary: int
    context: int
    fingerprint: str = ""
    batch_invariant: bool = False
    window: int | None = None
    layers: int | None = None
