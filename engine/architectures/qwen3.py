"""Qwen3 (Yang et al. 2025): heads of queries and keys are normed before they are turned. MarinDNA is of this family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.architectures.family import Family, as_said
from engine.errors import ModelRefused
from engine.numbers import LARGEST, whole

_WINDOW, _WHOLE_LAYERS = 4096, 28  # where sliding_window and max_window_layers are left out
_KINDS = ("full_attention", "sliding_attention")


def some_windows(raw: Mapping[str, Any], layers: int) -> list[int | None]:
    """Where use_sliding_window is set, layers from max_window_layers on have the window, or those that layer_types says."""
    used, window = raw.get("use_sliding_window", False), raw.get("sliding_window", _WINDOW)
    if type(used) is not bool:
        raise ModelRefused(f"use_sliding_window must be true or false, not {used!r}")
    kinds = raw.get("layer_types")
    if kinds is None:
        first = raw.get("max_window_layers", _WHOLE_LAYERS)
        if type(first) is not int:
            raise ModelRefused(f"max_window_layers must be a whole number, not {first!r}")
        kinds = [_KINDS[used and window is not None and layer >= first] for layer in range(layers)]
    if not isinstance(kinds, list) or len(kinds) != layers or not all(kind in _KINDS for kind in kinds):
        raise ModelRefused(f"layer_types must be a list of {layers} of {' and '.join(_KINDS)}")
    if _KINDS[1] not in kinds:
        return [None] * layers
    if not used or window is None:
        raise ModelRefused("layer_types has sliding_attention, and config.json sets no window to slide")
    tokens = whole("sliding_window", window, LARGEST)
    return [tokens if kind == _KINDS[1] else None for kind in kinds]


QWEN3 = Family("Qwen3ForCausalLM", "qwen3", windows=some_windows, biases=as_said, kv_heads=32, head_dim=128, head_norms=True)
