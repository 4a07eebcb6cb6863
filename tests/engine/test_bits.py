"""The bit contract: alone in a fresh process, or in any batch, chunk budget, order and class: the same bits."""

from __future__ import annotations

import dataclasses
import functools
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from engine.config import Kernels
from engine.request import Priority
from engine.runner import Runner
from kernels.plan import Span
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, bits, drive, mixed_requests

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = mixed_requests()
ORACLE = """
import json, sys
from pathlib import Path
from engine import isa
isa.pin("auto")
from engine.runner import Runner
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, bits, drive, mixed_requests
runner = Runner(model(Path(sys.argv[1]), sys.argv[2]), CONFIG)
alone = [drive(CONFIG, runner.run, [Arrival(0, request)])[0] for request in mixed_requests()]
print(json.dumps([bits(outcome).hex() for outcome in alone]))
"""


@pytest.fixture(scope="module")
def oracle(checkpoint: Path, kernels: Kernels, runner: Runner) -> list[bytes]:
    """Each request alone, in a process of its own, on the kernels of the runner."""
    command = [sys.executable, "-c", ORACLE, str(checkpoint), kernels]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [bytes.fromhex(value) for value in json.loads(run.stdout)]


def _random_mix(seed: int) -> tuple[dict[str, int], list[Arrival]]:
    """Settings and arrivals of one random mix."""
    generator = random.Random(seed)
    grid = generator.choice((1, 4, 16))
    settings = {
        "grid": grid,
        "chunk": grid * generator.choice((1, 2, 3, 5, 8)) * (16 if grid == 1 else 1),
        "token_budget": generator.choice((16, 40, 100, 256)),
        "slots": generator.choice((1, 3, 8)),
    }
    chosen = generator.sample(range(len(REQUESTS)), k=generator.randint(2, 7))
    arrivals = [Arrival(i, REQUESTS[i], generator.choice(list(Priority)), generator.choice((0, 0, 1, 3))) for i in chosen]
    return settings, arrivals


@pytest.mark.parametrize("block", range(20))
def test_two_hundred_random_mixes_give_the_bits_of_the_oracle(runner: Runner, oracle: list[bytes], block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        settings, arrivals = _random_mix(seed)
        outcomes = drive(dataclasses.replace(CONFIG, **settings), runner.run, arrivals)
        assert {h: bits(outcome) for h, outcome in outcomes.items()} == {a.handle: oracle[a.handle] for a in arrivals}, seed


def test_static_batching_gives_the_bits_of_the_oracle(runner: Runner, oracle: list[bytes]) -> None:
    static = dataclasses.replace(CONFIG, mode="static", slots=5)
    outcomes = drive(static, runner.run, [Arrival(i, request) for i, request in enumerate(REQUESTS)])
    assert [bits(outcomes[i]) for i in range(len(REQUESTS))] == oracle


def _library_attention(q: Tensor, keys: Tensor, values: Tensor, spans: Sequence[Span]) -> Tensor:
    """The same attention through scaled_dot_product_attention, span by span."""
    outputs = []
    for span in spans:
        end = span.start + span.length
        k, v = (pool[list(span.blocks)].transpose(1, 2).flatten(0, 1)[:end].transpose(0, 1)[None] for pool in (keys, values))
        place = torch.arange(end)
        seen = place[None, :] <= place[span.start :, None]
        rows = q[span.row : span.row + span.length].transpose(0, 1)[None]
        outputs.append(scaled_dot_product_attention(rows, k, v, attn_mask=seen, enable_gqa=True)[0].transpose(0, 1))
    return torch.cat(outputs).contiguous()


def test_control_library_attention_breaks_the_contract(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: were it to pass, the tests above would prove nothing."""
    runner = Runner(model(checkpoint), CONFIG)
    monkeypatch.setattr(runner.model.kernels, "plan", lambda spans: functools.partial(_library_attention, spans=spans))
    request = REQUESTS[13]
    whole = drive(dataclasses.replace(CONFIG, chunk=256), runner.run, [Arrival(0, request)])[0]
    cut = drive(dataclasses.replace(CONFIG, chunk=7, grid=1), runner.run, [Arrival(0, request)])[0]
    assert bits(whole) != bits(cut)


def test_the_model_is_wide_enough_to_show_a_difference(runner: Runner, oracle: list[bytes]) -> None:
    """Logits of a standard deviation below 1 would hide what the other tests look for."""
    hidden = torch.randn(200, runner.model.config.hidden, generator=torch.Generator().manual_seed(1))
    assert runner.model.layers >= 4
    assert runner.model.head(hidden).std() >= 1.0
    assert len(set(oracle)) == len(REQUESTS)
