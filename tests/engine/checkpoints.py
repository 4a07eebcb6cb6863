"""Random checkpoints in the Hugging Face layout: normal weights, logits with a standard deviation of at least 1."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

SYMBOLS = {"pad": 0, "bos": 1, "eos": 2, "A": 3, "C": 4, "G": 5, "T": 6, "N": 7}


@dataclass(frozen=True)
class Shape:
    """Odd on purpose: head_dim is not hidden / heads, and KV heads are shared."""

    hidden: int = 80
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 24
    intermediate: int = 112
    vocabulary: int = 11
    context: int = 512
    tied: bool = False
    window: int | None = None
    head_norms: bool = False
    biases: str = ""  # "qkv", or "all": of the output as well
    whole_layers: int = 0  # the first so many see all, whatever the window
    shards: int = 1
    seed: int = 0


def tensors(shape: Shape) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(shape.seed)

    def normal(rows: int, columns: int, scale: float = 1.0) -> Tensor:
        return torch.randn(rows, columns, generator=generator) * (scale / columns**0.5)

    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    found = {
        "model.embed_tokens.weight": torch.randn(shape.vocabulary, shape.hidden, generator=generator)
        * (0.3 if shape.tied else 1.0),
        "model.norm.weight": torch.rand(shape.hidden, generator=generator) + 0.5,
    }
    if not shape.tied:
        found["lm_head.weight"] = normal(shape.vocabulary, shape.hidden, 2.0)
    sizes = {"q_proj": (q, shape.hidden), "k_proj": (kv, shape.hidden), "v_proj": (kv, shape.hidden), "o_proj": (shape.hidden, q)}
    mlp = {
        "gate_proj": (shape.intermediate, shape.hidden),
        "up_proj": (shape.intermediate, shape.hidden),
        "down_proj": (shape.hidden, shape.intermediate),
    }
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}"
        found.update({f"{prefix}.self_attn.{name}.weight": normal(*size, 1.5) for name, size in sizes.items()})
        found.update({f"{prefix}.mlp.{name}.weight": normal(*size, 1.5) for name, size in mlp.items()})
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{prefix}.{norm}.weight"] = torch.rand(shape.hidden, generator=generator) + 0.5
        if shape.head_norms:
            for norm in ("q_norm", "k_norm"):
                found[f"{prefix}.self_attn.{norm}.weight"] = torch.rand(shape.head_dim, generator=generator) + 0.5
    for layer in range(shape.layers):
        for name, (rows, _) in sizes.items() if shape.biases else ():
            if name != "o_proj" or shape.biases == "all":
                found[f"model.layers.{layer}.self_attn.{name}.bias"] = torch.randn(rows, generator=generator) / 2
    return found


def family(shape: Shape) -> str:
    if shape.head_norms or shape.biases == "qkv":
        return "Qwen3" if shape.head_norms else "Qwen2"
    return "Mistral" if shape.window else "Llama"


def config(shape: Shape) -> dict[str, object]:
    return {
        "architectures": [f"{family(shape)}ForCausalLM"],
        "model_type": family(shape).lower(),
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": shape.tied,
        "sliding_window": shape.window,
        "use_sliding_window": shape.window is not None,
        "max_window_layers": shape.whole_layers,
        "hidden_act": "silu",
        "attention_bias": shape.biases == "all",
        "mlp_bias": False,
        "torch_dtype": "float32",
    }


def write_checkpoint(folder: Path, shape: Shape) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "config.json").write_text(json.dumps(config(shape)))
    (folder / "vocab.json").write_text(json.dumps(SYMBOLS))
    write_weights(folder, tensors(shape), shape.shards)
    return folder


def write_weights(folder: Path, found: dict[str, Tensor], shards: int = 1) -> None:
    """One file, or several with an index that says where each tensor lies."""
    if shards == 1:
        save_file(found, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = [f"model-{part + 1:05}-of-{shards:05}.safetensors" for part in range(shards)]
    places = {key: names[index % shards] for index, key in enumerate(sorted(found))}
    for name in names:
        save_file({key: found[key] for key in found if places[key] == name}, folder / name, metadata={"format": "pt"})
    size = sum(tensor.numel() * tensor.element_size() for tensor in found.values())
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": places}))
