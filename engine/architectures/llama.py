"""Llama (Touvron et al. 2023): the shared block and nothing else. GENERator, Carbon and METAGENE-1 are of this family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.architectures.family import Family, as_said
from engine.errors import ModelRefused


def _no_window(raw: Mapping[str, Any], layers: int) -> list[int | None]:
    if raw.get("sliding_window") is not None:  # others would read past the key and see everything
        raise ModelRefused("a LlamaForCausalLM has no sliding window, and config.json has sliding_window; Mistral has one")
    return [None] * layers


LLAMA = Family("LlamaForCausalLM", "llama", windows=_no_window, biases=as_said, aliases=("GENERatorForCausalLM",))
