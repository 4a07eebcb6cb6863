"""Mistral (Jiang et al. 2023): every layer sees the last `sliding_window` tokens. GenomeOcean is of this family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.architectures.family import Family
from engine.numbers import LARGEST, whole

_WINDOW = 4096  # where sliding_window is left out; null means that there is none


def _one_window(raw: Mapping[str, Any], layers: int) -> list[int | None]:
    given = raw.get("sliding_window", _WINDOW)
    return [None if given is None else whole("sliding_window", given, LARGEST)] * layers


MISTRAL = Family("MistralForCausalLM", "mistral", windows=_one_window, kv_heads=8)
