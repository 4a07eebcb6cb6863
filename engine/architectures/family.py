"""What a family of models adds to the shared block, and what its `config.json` may leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import ModelRefused
from engine.numbers import flag

# config.json and the number of layers -> for each layer the tokens that a position sees, its own included, or None
Windows = Callable[[Mapping[str, Any], int], list[int | None]]


@dataclass(frozen=True, slots=True)
class Biases:
    """Which projections of attention have one."""

    qkv: bool
    output: bool


def no_biases(raw: Mapping[str, Any]) -> Biases:
    """Refuses where `config.json` says that there are some: the library would read past the key."""
    if flag("attention_bias", raw.get("attention_bias") or False):
        raise ModelRefused("attention_bias = True is not served here: models of this architecture have no biases")
    return Biases(qkv=False, output=False)


def as_said(raw: Mapping[str, Any]) -> Biases:
    """All four where `attention_bias` is set."""
    said = flag("attention_bias", raw.get("attention_bias") or False)
    return Biases(qkv=said, output=said)


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture as published. What is left out of `config.json` means what it means to the `transformers` library."""

    architecture: str  # as `architectures` of config.json spells it
    model_type: str
    windows: Windows
    biases: Callable[[Mapping[str, Any]], Biases] = no_biases
    kv_heads: int | None = None  # where num_key_value_heads is left out; None: a KV head for each head
    head_dim: int | None = None  # where head_dim is left out; None: hidden_size / num_attention_heads
    aliases: tuple[str, ...] = ()  # other names in `architectures`, where model_type and tensors are those of the family
    head_norms: bool = False  # each head of queries and keys goes through an RMSNorm before it is turned

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that `config.json` may call it."""
        return (self.architecture, self.model_type, *self.aliases)
