"""The models that speed is measured with: random normal weights from a fixed seed, written once, in the Hugging Face layout.

The weights are numbers that bfloat16 holds exactly, so that every precision computes with the same ones.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peer import FOLDER

_FORMAT = "1"  # part of the folder's name: change it whenever what is written changes
SYMBOLS = {symbol: number for number, symbol in enumerate(("pad", "bos", "eos", "unk", *"ACGTN", *"RYSWKM", "-"))}


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama, or with `window` a Mistral whose tokens see only that many before them."""

    name: str = "dna-small"
    hidden: int = 512
    layers: int = 8
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 64
    intermediate: int = 1408
    vocabulary: int = 16
    context: int = 131_072
    window: int | None = None
    seed: int = 0

    @property
    def parameters(self) -> int:
        """Weights of the linear layers, vocabulary included: two floating-point operations each per token."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate) + self.hidden * self.vocabulary


SMALL = Shape()
SLIDING = Shape("dna-small-sw", window=1024, context=1 << 23)


def folder(shape: Shape = SMALL) -> Path:
    """Where the model lies, made when it is missing."""
    place = FOLDER / "models" / f"{shape.name}-{_FORMAT}"
    if not (place / "model.safetensors").exists():
        unfinished = place.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        write(shape, unfinished)
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    return place


def write(shape: Shape, place: Path) -> None:
    """Write `config.json`, `vocab.json`, `generation_config.json` and the weights into a new folder."""
    from safetensors.torch import save_file

    place.mkdir(parents=True)
    (place / "config.json").write_text(json.dumps(config(shape), indent=1))
    (place / "generation_config.json").write_text(json.dumps({"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}))
    (place / "vocab.json").write_text(json.dumps(SYMBOLS))
    save_file(_tensors(shape), place / "model.safetensors", metadata={"format": "pt"})


def config(shape: Shape) -> dict[str, Any]:
    """`config.json`."""
    sliding = {"sliding_window": shape.window} if shape.window else {}
    return {
        "architectures": ["MistralForCausalLM" if shape.window else "LlamaForCausalLM"],
        "model_type": "mistral" if shape.window else "llama",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.context,
        "rope_theta": 10_000.0,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "torch_dtype": "float32",
        **sliding,
    }


def _tensors(shape: Shape) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(shape.seed)

    def normal(rows: int, columns: int, scale: float) -> torch.Tensor:
        return (torch.randn(rows, columns, generator=generator) * scale).bfloat16().float()

    def linear(rows: int, columns: int, gain: float = 1.0) -> torch.Tensor:
        return normal(rows, columns, gain / columns**0.5)

    h, q, kv, inner = shape.hidden, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.intermediate
    found = {"model.embed_tokens.weight": normal(shape.vocabulary, h, 1.0), "model.norm.weight": torch.ones(h)}
    found["lm_head.weight"] = linear(shape.vocabulary, h, 2.0)
    for layer in range(shape.layers):
        attention, mlp = f"model.layers.{layer}.self_attn", f"model.layers.{layer}.mlp"
        for name, rows, columns in (("q", q, h), ("k", kv, h), ("v", kv, h), ("o", h, q)):
            found[f"{attention}.{name}_proj.weight"] = linear(rows, columns)
        for name, rows, columns in (("gate", inner, h), ("up", inner, h), ("down", h, inner)):
            found[f"{mlp}.{name}_proj.weight"] = linear(rows, columns)
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"model.layers.{layer}.{name}.weight"] = torch.ones(h)
    return found
