"""The folders of published DNA models, shrunken: the same keys in config.json, the same names of tensors, the same way of storing.

Facts are from EVIDENCE section 3, the model card of Carbon-3B (30 layers, hidden 3072, 32 heads of 96 on 4 KV heads; a context of
65,536 by YaRN with factor 4 of 32,768), and reports of others on GENERator 1.2b (hidden 2048, 26 layers, vocabulary 4128) and
GenomeOcean (bf16, vocabulary 4096). The published config.json files themselves were not at hand: the rotary kind of MarinDNA (that
of Llama 3) is inferred from what its makers use elsewhere. Sizes that shrink are those of layers, width and context; the base
configuration of each family fills in what they leave open.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.engine.checkpoints import Shape, tensors, write_weights

_COMMON: dict[str, object] = {
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 96,
    "initializer_range": 0.02,
    "intermediate_size": 160,
    "num_hidden_layers": 4,
    "use_cache": True,
}
_LLAMA = _COMMON | {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "attention_bias": False,
    "mlp_bias": False,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}


@dataclass(frozen=True)
class Published:
    """A folder: config.json, how numbers are stored, in how many files."""

    config: dict[str, object]
    stored: torch.dtype = torch.bfloat16
    shards: int = 1
    seed: int = 0

    @property
    def shape(self) -> Shape:
        """What the tensors follow from."""
        c = {key: value for key, value in self.config.items() if isinstance(value, int)}
        return Shape(
            hidden=c["hidden_size"],
            layers=c["num_hidden_layers"],
            heads=c["num_attention_heads"],
            kv_heads=c.get("num_key_value_heads", c["num_attention_heads"]),
            head_dim=c.get("head_dim", c["hidden_size"] // c["num_attention_heads"]),
            intermediate=c["intermediate_size"],
            vocabulary=c["vocab_size"],
            context=c["max_position_embeddings"],
            tied=bool(c["tie_word_embeddings"]),
            window=c.get("sliding_window") if c.get("use_sliding_window", True) else None,
            head_norms=self.config["model_type"] == "qwen3",
            biases="all" if self.config.get("attention_bias") else ("qkv" if self.config["model_type"] == "qwen2" else ""),
            seed=self.seed,
        )

    def write(self, folder: Path) -> Path:
        """The folder with random weights, stored as they say."""
        (folder / "config.json").write_text(json.dumps(self.config))
        found = tensors(self.shape)
        if self.shape.tied:  # else logits are so large that a tolerance of an absolute size says nothing
            found["model.embed_tokens.weight"] *= 0.5
        write_weights(folder, {name: tensor.to(self.stored) for name, tensor in found.items()}, self.shards)
        return folder


GENERATOR = Published(
    _LLAMA
    | {
        "head_dim": 96,
        "max_position_embeddings": 16384,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "rope_scaling": None,
        "rope_theta": 500000.0,
        "torch_dtype": "float32",
        "transformers_version": "4.45.2",
        "vocab_size": 4128,
    },
    stored=torch.float32,
    shards=2,
    seed=1,
)
CARBON = Published(
    _LLAMA
    | {
        "dtype": "bfloat16",
        "head_dim": 12,
        "max_position_embeddings": 32768,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
        "transformers_version": "5.0.0",
        "vocab_size": 4300,
    },
    shards=3,
    seed=2,
)
CARBON_STRETCHED = Published(
    {key: value for key, value in CARBON.config.items() if key not in ("dtype", "rope_parameters")}
    | {
        "max_position_embeddings": 256,
        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128},
        "rope_theta": 500000.0,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.56.1",
    },
    seed=7,
)
METAGENE = Published(
    _LLAMA
    | {
        "max_position_embeddings": 512,
        "max_sequence_length": 2048,
        "num_attention_heads": 6,
        "num_key_value_heads": 6,
        "rope_scaling": None,
        "rope_theta": 10000.0,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.44.2",
        "vocab_size": 1024,
    },
    shards=4,
    seed=4,
)
GENOME_OCEAN = Published(
    _COMMON
    | {
        "architectures": ["MistralForCausalLM"],
        "head_dim": 16,
        "max_position_embeddings": 10240,
        "model_type": "mistral",
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "pad_token_id": 3,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "sliding_window": 48,
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
        "transformers_version": "4.44.0",
        "vocab_size": 4096,
    },
    stored=torch.float16,
    seed=15,
)
MARIN_DNA = Published(
    _COMMON
    | {
        "architectures": ["Qwen3ForCausalLM"],
        "attention_bias": False,
        "dtype": "bfloat16",
        "head_dim": 32,
        "layer_types": ["full_attention"] * 4,
        "max_position_embeddings": 255,
        "max_window_layers": 28,
        "model_type": "qwen3",
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {
            "factor": 8.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192,
            "rope_theta": 500000.0,
            "rope_type": "llama3",
        },
        "sliding_window": None,
        "tie_word_embeddings": False,
        "transformers_version": "5.0.0",
        "use_sliding_window": False,
        "vocab_size": 8,
    },
    seed=6,
)
QWEN3_WINDOW = Published(
    {key: value for key, value in MARIN_DNA.config.items() if key not in ("dtype", "rope_parameters", "layer_types")}
    | {
        "max_window_layers": 0,
        "rope_scaling": {"type": "linear", "factor": 2.0},
        "rope_theta": 1000000,
        "sliding_window": 40,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "transformers_version": "4.51.0",
        "use_sliding_window": True,
        "vocab_size": 64,
    },
    stored=torch.float32,
    seed=7,
)
QWEN3_SOME_WINDOWS = Published(
    {key: value for key, value in QWEN3_WINDOW.config.items() if key != "max_window_layers"}
    | {"layer_types": ["sliding_attention", "full_attention"] * 2, "tie_word_embeddings": False},
    stored=torch.float32,
    seed=17,
)
QWEN2 = Published(
    {key: value for key, value in QWEN3_WINDOW.config.items() if key not in ("head_dim", "attention_bias")}
    | {"architectures": ["Qwen2ForCausalLM"], "max_window_layers": 3, "model_type": "qwen2"},
    seed=9,
)
LLAMA_BIASED = Published(METAGENE.config | {"attention_bias": True}, seed=10)
ALL = {
    "GENERator": GENERATOR,
    "Carbon": CARBON,
    "Carbon with YaRN": CARBON_STRETCHED,
    "METAGENE-1": METAGENE,
    "GenomeOcean": GENOME_OCEAN,
    "MarinDNA": MARIN_DNA,
    "Qwen3 with a window": QWEN3_WINDOW,
    "Qwen3 with a window in some layers": QWEN3_SOME_WINDOWS,
    "Qwen2": QWEN2,
    "Llama with biases": LLAMA_BIASED,
}


def with_config(published: Published, **changes: object) -> Published:
    """The same with other keys in config.json."""
    return dataclasses.replace(published, config=published.config | changes)
