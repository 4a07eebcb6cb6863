"""The Llama network in plain torch, with the tensor names of Hugging Face, so that its files load anywhere.

With a sliding window it is what Hugging Face calls Mistral; the tensors are the same.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from models.training.banded import banded_attention

PAD, BOS, EOS = 0, 1, 2
FIRST_BASE = 3  # token of a base code: A C G T N = 3 4 5 6 7
VOCABULARY = {"pad": PAD, "bos": BOS, "eos": EOS, "A": 3, "C": 4, "G": 5, "T": 6, "N": 7}
INITIAL_SPREAD = 0.02


@dataclass(frozen=True)
class LlamaConfig:
    hidden_size: int = 256
    num_hidden_layers: int = 6
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 688
    vocab_size: int = len(VOCABULARY)
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10_000.0
    max_position_embeddings: int = 512
    sliding_window: int | None = None  # bases a layer looks back, its own included; None: all

    @classmethod
    def read(cls, folder: Path) -> "LlamaConfig":
        stored = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return cls(**{field.name: stored[field.name] for field in fields(cls) if field.name in stored})

    def as_hugging_face(self) -> dict[str, object]:
        family = "Llama" if self.sliding_window is None else "Mistral"
        fixed = {
            "architectures": [f"{family}ForCausalLM"],
            "model_type": family.lower(),
            "hidden_act": "silu",
            "torch_dtype": "float32",
        }
        without = {"tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False}
        return {**fixed, **asdict(self), **without, "bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}


class Norm(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size))
        self.epsilon = config.rms_norm_eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class Attention(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.head_dim, self.window = config.head_dim, config.sliding_window
        queries, keys = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, keys, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, keys, bias=False)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        query, key, value = (
            projection(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key = rotate(query, cosine, sine), rotate(key, cosine, sine)
        if self.window is None:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        else:
            mixed = banded_attention(query, key, value, self.window)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return out


class FeedForward(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Layer(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(config), Attention(config)
        self.post_attention_layernorm, self.mlp = Norm(config), FeedForward(config)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cosine, sine)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Backbone(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.norm = Norm(config)

    def forward(self, tokens: Tensor) -> Tensor:
        x: Tensor = self.embed_tokens(tokens)
        cosine, sine = rotary_table(self.config, tokens.shape[1], x.device)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        out: Tensor = self.norm(x)
        return out


class Llama(nn.Module):
    """Tokens (batch, length) to logits (batch, length, vocabulary)."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Backbone(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.lm_head(self.model(tokens))
        return out

    def initialise(self) -> None:
        """Normal weights; what is added to the residual stream starts smaller, by the root of the number of additions."""
        scale = (2 * self.config.num_hidden_layers) ** -0.5
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, 0.0, INITIAL_SPREAD * (scale if residual else 1.0))


def rotary_table(config: LlamaConfig, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosine and sine of position times frequency, each (length, head_dim / 2)."""
    exponents = torch.arange(0, config.head_dim, 2, device=device, dtype=torch.float32) / config.head_dim
    # the reciprocal, not a negative power: they round differently, and far positions multiply the difference
    angles = torch.arange(length, device=device, dtype=torch.float32)[:, None] * (1.0 / config.rope_theta**exponents)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turns each pair (i, i + head_dim / 2): the half-split order that Llama files are written for."""
    cosine, sine = cosine.to(x.dtype), sine.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


def load(folder: Path) -> Llama:
    network = Llama(LlamaConfig.read(folder))
    network.load_state_dict(load_file(folder / "model.safetensors"))
    return network.eval()


def save(network: Llama, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().float().contiguous() for name, tensor in network.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(network.config.as_hugging_face(), indent=1), encoding="utf-8")
    (folder / "vocab.json").write_text(json.dumps(VOCABULARY), encoding="utf-8")
