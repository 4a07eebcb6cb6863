"""Numbers agree with `transformers` and with a plain full forward written here."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.config import EngineConfig
from engine.model import Model
from engine.request import Generate, GenerateResult, Score, ScoreResult
from engine.runner import Runner
from tests.engine.checkpoints import Shape, tensors, write_checkpoint
from tests.engine.driving import Arrival, drive

CONFIG = EngineConfig(blocks=64, chunk=48, token_budget=100, poison_free_blocks=True)
SHAPES = {
    "grouped heads, odd head size": Shape(),
    "tied embeddings": Shape(tied=True, seed=1),
    "sharded, one KV head": Shape(kv_heads=1, shards=3, seed=2),
    "a KV head for each head": Shape(kv_heads=4, head_dim=20, seed=3),
    "sliding window": Shape(window=40, seed=4),
    "norms of the heads": Shape(head_norms=True, seed=5),
    "norms of the heads under a sliding window": Shape(head_norms=True, window=40, tied=True, seed=6),
    "norms of the heads, a window in some layers": Shape(head_norms=True, window=40, whole_layers=2, seed=7),
    "biases of queries, keys and values": Shape(biases="qkv", seed=8),
    "biases of queries, keys and values, a window in some layers": Shape(biases="qkv", window=40, whole_layers=1, seed=9),
    "biases around attention": Shape(biases="all", seed=10),
    "biases around attention, norms of the heads": Shape(biases="all", head_norms=True, seed=11),
}
TOKENS = tuple(int(token) for token in torch.randint(11, (150,), generator=torch.Generator().manual_seed(0)))


def runner_for(folder: Path, shape: Shape) -> Runner:
    torch.set_num_threads(CONFIG.threads)
    return Runner(Model(write_checkpoint(folder, shape), CONFIG.block_size), CONFIG)


def score(runner: Runner, tokens: tuple[int, ...]) -> Tensor:
    result = drive(CONFIG, runner.run, [Arrival(0, Score(tokens))])[0].result
    assert isinstance(result, ScoreResult)
    return torch.tensor(result.logprobs)


def plain_logits(shape: Shape, tokens: tuple[int, ...]) -> Tensor:
    """A full forward in double precision, straight from the formulas, with one big attention matrix."""
    w = {name: tensor.double() for name, tensor in tensors(shape).items()}

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight

    n, d = len(tokens), shape.head_dim
    place = torch.arange(n)
    angles = place[:, None] * (10000.0 ** (-torch.arange(0, d, 2).double() / d))
    turn = torch.polar(torch.ones_like(angles), angles)[:, None, :]
    later = place[None, :] > place[:, None]

    def rotated(x: Tensor) -> Tensor:
        turned = torch.complex(x[..., : d // 2], x[..., d // 2 :]) * turn
        return torch.cat((turned.real, turned.imag), dim=-1)

    x = w["model.embed_tokens.weight"][torch.tensor(tokens)]
    for layer in range(shape.layers):
        p = f"model.layers.{layer}."
        h = norm(x, w[p + "input_layernorm.weight"])
        window = shape.window if shape.window and layer >= shape.whole_layers else n
        hidden_keys = later | (place[None, :] <= place[:, None] - window)
        bias = {name: w.get(f"{p}self_attn.{name}_proj.bias", torch.zeros(1).double()) for name in "qkvo"}
        q, k, v = ((h @ w[f"{p}self_attn.{name}_proj.weight"].T + bias[name]).view(n, -1, d) for name in "qkv")
        if shape.head_norms:
            q, k = (norm(t, w[f"{p}self_attn.{name}_norm.weight"]) for t, name in ((q, "q"), (k, "k")))
        k, v = (t.repeat_interleave(shape.heads // shape.kv_heads, dim=1) for t in (rotated(k), v))
        scores = torch.einsum("qhd,khd->hqk", rotated(q), k) / math.sqrt(d)
        mixed = torch.einsum("hqk,khd->qhd", scores.masked_fill(hidden_keys, -math.inf).softmax(-1), v)
        x = x + mixed.reshape(n, -1) @ w[p + "self_attn.o_proj.weight"].T + bias["o"]
        h = norm(x, w[p + "post_attention_layernorm.weight"])
        gate, up = (h @ w[f"{p}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (gate * torch.sigmoid(gate) * up) @ w[p + "mlp.down_proj.weight"].T
    return norm(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight" if shape.tied else "lm_head.weight"].T


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_scores_equal_a_plain_full_forward(tmp_path: Path, shape: Shape) -> None:
    logprobs = plain_logits(shape, TOKENS).log_softmax(-1)[:-1]
    expected = logprobs.gather(1, torch.tensor(TOKENS[1:])[:, None])[:, 0]
    assert (score(runner_for(tmp_path, shape), TOKENS) - expected).abs().max() < 1e-4


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_scores_and_greedy_tokens_equal_transformers(tmp_path: Path, shape: Shape) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is a development dependency")
    runner = runner_for(tmp_path, shape)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32)
    with torch.inference_mode():
        logprobs = model(torch.tensor([TOKENS])).logits[0].log_softmax(-1)[:-1]
        expected = logprobs.gather(1, torch.tensor(TOKENS[1:])[:, None])[:, 0]
        assert (score(runner, TOKENS) - expected).abs().max() < 1e-4
        tokens = list(TOKENS[:20])
        for _ in range(60):
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    result = drive(CONFIG, runner.run, [Arrival(0, Generate(TOKENS[:20], limit=60))])[0].result
    assert isinstance(result, GenerateResult)
    assert list(result.tokens) == tokens[20:]


def test_chunks_of_sixteen_reach_across_a_sliding_window(tmp_path: Path) -> None:
    """Tiles before the window are skipped in some chunks and masked in others."""
    runner = runner_for(tmp_path, SHAPES["sliding window"])
    narrow = dataclasses.replace(CONFIG, chunk=16, token_budget=16)
    whole, cut = (drive(config, runner.run, [Arrival(0, Score(TOKENS))])[0].result for config in (CONFIG, narrow))
    assert whole == cut
