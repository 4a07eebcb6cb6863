"""Stretched frequencies and their magnitude, against the functions of `transformers` and at the ends that papers name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernels.frequencies import Frequencies, Linear, Llama3, Plain, Yarn, yarn_magnitude

MSCALE = yarn_magnitude(40.0, 1.0) / yarn_magnitude(40.0, 0.7)
KINDS: dict[str, tuple[Frequencies, dict[str, Any]]] = {
    "linear": (Linear(1e4, 2.5), {"rope_type": "linear", "factor": 2.5}),
    "llama3": (
        Llama3(5e5, 8.0, 1.0, 4.0, 8192),
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    ),
    "yarn": (Yarn(5e5, 4.0, 8192, yarn_magnitude(4.0)), {"rope_type": "yarn", "factor": 4.0}),
    "yarn, whole": (
        Yarn(1e4, 4.0, 8192, 1.5, 20.0, 2.0),
        {"factor": 4.0, "attention_factor": 1.5, "beta_fast": 20, "beta_slow": 2},
    ),
    "yarn, not truncated": (Yarn(1e6, 16.0, 8192, yarn_magnitude(16.0), truncate=False), {"factor": 16.0, "truncate": False}),
    "yarn, mscale": (Yarn(1e4, 40.0, 8192, MSCALE), {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.7}),
}


@pytest.mark.parametrize("head_dim", [8, 24, 96, 128])
@pytest.mark.parametrize("kind", KINDS)
def test_stretched_frequencies_are_those_of_transformers(kind: str, head_dim: int) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is a development dependency")
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    ours, settings = KINDS[kind]
    rope = {"rope_type": "yarn", "rope_theta": ours.theta, "original_max_position_embeddings": 8192} | settings
    raw = transformers.LlamaConfig(head_dim=head_dim, max_position_embeddings=int(8192 * rope["factor"]), rope_parameters=rope)
    theirs, magnitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](raw, torch.device("cpu"))
    assert torch.allclose(ours.of(head_dim), theirs, rtol=1e-5, atol=0.0)
    assert ours.magnitude == pytest.approx(magnitude, rel=1e-12)


@pytest.mark.parametrize("stretched", [Llama3(1e4, 8.0, 1.0, 4.0, 4096), Yarn(1e4, 8.0, 4096, 1.0)], ids=["llama3", "yarn"])
def test_what_turns_often_is_kept_and_what_hardly_turns_is_stretched(stretched: Frequencies) -> None:
    plain, found = Plain(1e4).of(64), stretched.of(64)
    assert torch.equal(found[:3], plain[:3])
    assert torch.allclose(found[-3:], plain[-3:] / 8.0, rtol=1e-6)
    assert (found.diff() < 0).all()


def test_a_ramp_of_no_width_is_a_step() -> None:
    """All pairs turn often in so long a context: the ramp begins and ends behind them."""
    plain, found = Plain(1e4).of(8), Yarn(1e4, 2.0, 1 << 24, 1.0).of(8)
    assert torch.equal(found, plain)


def test_nothing_is_scaled_where_nothing_is_stretched() -> None:
    assert yarn_magnitude(1.0) == 1.0
    assert Plain(1e4).magnitude == Linear(1e4, 2.0).magnitude == 1.0
