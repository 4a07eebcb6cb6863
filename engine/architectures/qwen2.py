"""Qwen2 (Yang et al. 2024): queries, keys and values have biases, and nothing else has; windows as in Qwen3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.architectures.family import Biases, Family
from engine.architectures.qwen3 import some_windows


def _always(raw: Mapping[str, Any]) -> Biases:
    return Biases(qkv=True, output=False)


QWEN2 = Family("Qwen2ForCausalLM", "qwen2", windows=some_windows, biases=_always, kv_heads=32)
