"""What a family of models adds to the shared block, and what its `config.json` may leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Window = Callable[[Mapping[str, Any], int], int | None]  # config.json and the number of layers -> tokens, its own included, or None


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture as published. What is left out of `config.json` means what it means to the `transformers` library."""

    architecture: str  # as `architectures` of config.json spells it
    model_type: str
    window: Window  # the sliding window of every layer; ModelRefused where the layers differ
    kv_heads: int | None = None  # where num_key_value_heads is left out; None: a KV head for each head
    head_dim: int | None = None  # where head_dim is left out; None: hidden_size / num_attention_heads
    aliases: tuple[str, ...] = ()  # other names in `architectures`, where model_type and tensors are those of the family
    head_norms: bool = False  # each head of queries and keys goes through an RMSNorm before it is turned

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that `config.json` may call it."""
        return (self.architecture, self.model_type, *self.aliases)
