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
from typing import get_args

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from engine.config import EngineConfig, Kernels, Precision
from engine.request import REFERENCE, Embed, Generate, Priority, Score
from engine.runner import Runner
from kernels.plan import Span
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import LABORATORY, LIMITS, Arrival, bits, drive, mixed_requests, related

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = mixed_requests()
ORACLE = """
import json, sys
from pathlib import Path
from engine import isa
isa.pin("auto")
from engine.request import PRIVATE
from engine.runner import Runner
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, alone, bits, mixed_requests
found = {}
for precision in sys.argv[3:]:
    runner = Runner(model(Path(sys.argv[1]), sys.argv[2], precision), CONFIG)
    found[precision] = [bits(alone(CONFIG, runner.run, request)).hex() for request in mixed_requests()]
print(json.dumps(found))
"""
FAST = [("native", precision, threads) for precision in ("fp32", "bf16") for threads in (2, 1)]
PLAIN = [("reference", "fp32", 2), ("reference", "bf16", 2), ("numba", "fp32", 2), ("numba", "bf16", 1)]
BLOCKS = {
    "normed": Shape(head_norms=True, biases="all", window=40, whole_layers=2, seed=11),
    "Qwen2": Shape(biases="qkv", window=40, whole_layers=3, seed=12),
    "biased": Shape(biases="all", seed=13),
    "Mistral": Shape(window=40, seed=14),
}
OTHERS = [(name, *computed) for name in BLOCKS for computed in (FAST[0], FAST[-1])]


@functools.cache
def runner_of(folder: Path, kernels: Kernels, precision: Precision, threads: int) -> Runner:
    """A runner on its own pool of poisoned blocks."""
    config = dataclasses.replace(CONFIG, threads=threads)
    return Runner(model(folder, kernels, precision, threads), config)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each of the other blocks."""
    return {name: written(tmp_path_factory.mktemp("block"), shape) for name, shape in BLOCKS.items()}


def written(folder: Path, shape: Shape) -> Path:
    """Where heads are normed, angles are stretched by YaRN, too."""
    write_checkpoint(folder, shape)
    if shape.head_norms:
        stretched = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}}
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | stretched))
    return folder


@functools.cache
def _oracles_of(folder: Path, kernels: Kernels) -> dict[Precision, list[bytes]]:
    """In every precision: most of what such a process takes is its start."""
    command = [sys.executable, "-c", ORACLE, str(folder), kernels, *get_args(Precision)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {precision: [bytes.fromhex(value) for value in values] for precision, values in json.loads(run.stdout).items()}


def oracle_of(folder: Path, kernels: Kernels, precision: Precision) -> list[bytes]:
    """Each request alone, caches off, in a process of its own, on two threads."""
    return _oracles_of(folder, kernels)[precision]


@pytest.fixture(scope="module")
def oracle(checkpoint: Path, kernels: Kernels) -> list[bytes]:
    """The bits of the requests on one set of kernels in float32."""
    return oracle_of(checkpoint, kernels, "fp32")


def random_mix(seed: int, most: int) -> tuple[EngineConfig, list[Arrival]]:
    """Settings and arrivals of one random mix: budgets, orders, classes, who shares with whom, what was there before."""
    generator = random.Random(seed)
    grid = generator.choice((1, 4, 16))
    config = dataclasses.replace(
        CONFIG,
        grid=grid,
        chunk=grid * generator.choice((1, 2, 3, 5, 8)) * (16 if grid == 1 else 1),
        token_budget=generator.choice((16, 40, 100, 256)),
        slots=generator.choice((1, 3, 8)),
        blocks=generator.choice((20, 40, 160)),
        long=generator.choice((20, 4096)),
        deep=generator.choice((32, 8192)),
    )
    chosen = generator.choices(range(len(REQUESTS)), k=generator.randint(2, most))
    return config, [
        Arrival(handle, REQUESTS[place], generator.choice(list(Priority)), generator.choice((0, 0, 1, 3, 9)), place)
        for handle, place in enumerate(chosen)
    ]


def check_mixes(runner: Runner, expected: list[bytes], seeds: range, most: int) -> int:
    """Every mix gives the bits of the oracle; how many requests gave way to others meanwhile."""
    preempted = 0
    for seed in seeds:
        config, arrivals = random_mix(seed, most)
        outcomes = drive(config, runner.run, arrivals)
        assert {h: bits(outcome) for h, outcome in outcomes.items()} == {a.handle: expected[a.place] for a in arrivals}, seed
        preempted += sum(outcome.preempted for outcome in outcomes.values())
    return preempted


@pytest.mark.parametrize("block", range(5))
@pytest.mark.parametrize(("kernels", "precision", "threads"), FAST)
def test_two_thousand_random_mixes_give_the_bits_of_the_oracle(
    checkpoint: Path, kernels: Kernels, precision: Precision, threads: int, block: int
) -> None:
    """Four times five hundred: chunk budgets, arrival orders, classes, sharing, giving way, one thread and two."""
    seeds = range(block * 100, block * 100 + 100)
    expected = oracle_of(checkpoint, kernels, precision)
    assert check_mixes(runner_of(checkpoint, kernels, precision, threads), expected, seeds, most=5) > 0


@pytest.mark.parametrize(("kernels", "precision", "threads"), PLAIN)
def test_random_mixes_give_the_bits_of_the_oracle_on_the_other_kernels(
    checkpoint: Path, kernels: Kernels, precision: Precision, threads: int
) -> None:
    expected = oracle_of(checkpoint, kernels, precision)
    check_mixes(runner_of(checkpoint, kernels, precision, threads), expected, range(9000, 9012), most=7)


@pytest.mark.parametrize(("block", "kernels", "precision", "threads"), [*OTHERS, ("normed", *PLAIN[0]), ("normed", *PLAIN[-1])])
def test_random_mixes_give_the_bits_of_the_oracle_with_other_blocks(
    blocks: dict[str, Path], block: str, kernels: Kernels, precision: Precision, threads: int
) -> None:
    """Heads that are normed, biases, windows in some layers or all, stretched angles."""
    expected = oracle_of(blocks[block], kernels, precision)
    check_mixes(runner_of(blocks[block], kernels, precision, threads), expected, range(9100, 9106), most=7)


def test_under_a_sliding_window_long_ones_give_blocks_back_and_keep_their_bits(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Against the same tokens with every block kept: chunks of any size, slots for one or many, in a fifth of the blocks."""
    runner = Runner(model(write_checkpoint(tmp_path_factory.mktemp("window"), Shape(window=40, seed=3)), "native"), CONFIG)
    limits = dataclasses.replace(LIMITS, window=40)
    tokens = tuple(random.Random(8).choices(range(11), k=480))
    requests = [
        Score(tokens),
        Score(tokens[:400]),
        Generate(tokens[:350], limit=5),
        Embed(tokens),
        *related(tokens[:60], REFERENCE),
        *related(tokens[:300], REFERENCE),
    ]
    whole = dataclasses.replace(CONFIG, chunk=512, token_budget=512)
    expected = [bits(drive(whole, runner.run, [Arrival(0, request)])[0]) for request in requests]  # no limits: nothing slides
    for seed in range(20):
        config, _ = random_mix(seed, 2)
        config = dataclasses.replace(config, chunk=min(config.chunk, 48), blocks=24)
        order = random.Random(seed).sample(range(len(requests)), k=6)
        outcomes = drive(config, runner.run, [Arrival(handle, requests[handle]) for handle in order], limits)
        assert {h: bits(outcome) for h, outcome in outcomes.items()} == {h: expected[h] for h in order}, seed


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


def test_control_a_branch_that_does_not_copy_the_block_it_shares_breaks_the_contract(
    checkpoint: Path, oracle: list[bytes], kernels: Kernels
) -> None:
    """Copy on write left out: what the branch should have in common with its window is then memory that nobody wrote."""
    runner = runner_of(checkpoint, kernels, "fp32", 2)
    window = next(place for place, request in enumerate(REQUESTS) if request.sharing == LABORATORY)
    arrivals = [Arrival(place, REQUESTS[place]) for place in range(window, window + 9)]
    outcomes = drive(CONFIG, lambda batch: runner.run(dataclasses.replace(batch, copies=())), arrivals)
    wrong = [h for h, outcome in outcomes.items() if outcome.state == "failed" or bits(outcome) != oracle[h]]
    assert wrong
    assert window not in wrong


def test_the_model_is_wide_enough_to_show_a_difference(runner: Runner, oracle: list[bytes]) -> None:
    """Logits of a standard deviation below 1 would hide what the other tests look for."""
    hidden = torch.randn(200, runner.model.config.hidden, generator=torch.Generator().manual_seed(1))
    assert runner.model.layers >= 4
    assert runner.model.head(hidden).std() >= 1.0
    assert len(set(oracle)) == len(REQUESTS)
