"""The compiled kernels alone against this machine: decode attention over read bandwidth, dense layers over the best matrix product.

Each round times the machine and the kernels one after the other; a ratio is the median over rounds of what one round gave.
"""

from __future__ import annotations

import functools
import random
import statistics
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from benchmarks import floor, machine
from benchmarks.models import SMALL
from engine.config import EngineConfig

if TYPE_CHECKING:
    from kernels.native import Native

Precision = Literal["fp32", "bf16"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")
ROWS = (32, 64, 512)
SEQUENCES, TOKENS = 32, 38_000  # decode: keys and values of so many tokens in all
_BLOCK = 32
_ROUNDS, _QUICK_ROUNDS = 9, 5


def measure(quick: bool) -> dict[str, float]:
    """Fractions, and the rates behind them in GB/s and GFLOP/s; a precision that cannot be had is absent."""
    import torch

    threads, rounds = EngineConfig().threads, _QUICK_ROUNDS if quick else _ROUNDS
    torch.set_num_threads(threads)
    figures: dict[str, float] = {}
    for precision in PRECISIONS:
        kernels = floor._kernels(precision, threads)
        if kernels is None:
            continue
        with torch.inference_mode():
            figures |= _decode(kernels, precision, rounds) | _dense(kernels, precision, rounds)
    return figures


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _decode(kernels: Native, precision: Precision, rounds: int) -> dict[str, float]:
    """One query row for each of many sequences whose blocks lie anywhere, through layers of more than four last-level caches."""
    import torch

    from kernels.plan import Span

    generator = random.Random(0)
    shares = [generator.uniform(0.25, 1.75) for _ in range(SEQUENCES)]
    lengths = [max(1, round(TOKENS * share / sum(shares))) for share in shares]
    counts = [-(-length // _BLOCK) for length in lengths]
    order = generator.sample(range(sum(counts)), sum(counts))
    spans, at = [], 0
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        spans.append(Span(row, length - 1, 1, tuple(order[at : at + count])))
        at += count
    one_layer = sum(lengths) * SMALL.kv_heads * SMALL.head_dim * 2 * (4 if precision == "fp32" else 2)
    layers = -(-4 * machine.last_level_cache() // one_layer)
    pools = [tuple(pool.copy_(torch.randn(pool[:1].shape)) for pool in kernels.pools(sum(counts))) for _ in range(layers)]
    q, attend = torch.randn(SEQUENCES, SMALL.heads, SMALL.head_dim), kernels.plan(spans)
    read = torch.ones(machine.last_level_cache())  # float32: four times the cache
    bandwidths, rates = [], []
    for _ in range(rounds + 1):  # the first one warms
        bandwidths.append(read.numel() * 4 / _seconds(read.sum))
        rates.append(one_layer * layers / _seconds(lambda: [attend(q, *pool) for pool in pools]))
    fractions = [rate / bandwidth for rate, bandwidth in zip(rates[1:], bandwidths[1:], strict=True)]
    return {
        f"decode_attention_fraction_of_bandwidth_{precision}": _median(fractions),
        f"decode_attention_gb_per_s_{precision}": _median(rates[1:]) / 1e9,
        f"decode_attention_ms_{precision}": one_layer / _median(rates[1:]) * 1e3,
        f"read_bandwidth_gb_per_s_{precision}": _median(bandwidths[1:]) / 1e9,
    }


def _dense(kernels: Native, precision: Precision, rounds: int) -> dict[str, float]:
    """All of a layer but attention (norms, products, rotation, writing keys and values), through all layers of the model."""
    sizes = floor.shapes()
    operations = 2 * SMALL.layers * sum(out * depth for out, depth in sizes)
    products = [
        (2 * floor.ROWS * out * depth, product)
        for out, depth in sizes
        for product in floor._products(precision, out, depth, kernels.threads)
    ]
    step = _dense_step(kernels)
    ceilings: list[float] = []
    rates: dict[int, list[float]] = {rows: [] for rows in ROWS}
    for _ in range(rounds + 1):  # the first one warms
        ceilings.append(max(count / _seconds(product) for count, product in products))
        for rows in ROWS:
            rates[rows].append(operations * rows / _seconds(functools.partial(step, rows)))
    found = {f"gemm_ceiling_gflops_{precision}": _median(ceilings[1:]) / 1e9}
    for rows in ROWS:
        fractions = [rate / ceiling for rate, ceiling in zip(rates[rows][1:], ceilings[1:], strict=True)]
        found[f"dense_fraction_of_ceiling_{rows}_{precision}"] = _median(fractions)
        found[f"dense_gflops_{rows}_{precision}"] = _median(rates[rows][1:]) / 1e9
    least = min(found[f"dense_fraction_of_ceiling_{rows}_{precision}"] for rows in ROWS)
    return found | {f"dense_fraction_of_ceiling_{precision}": least}


def _dense_step(kernels: Native) -> Callable[[int], None]:
    """A call with a number of rows takes so many through the dense parts of all layers."""
    import torch

    from kernels import frequencies, reference
    from kernels.layers import LayerWeights, Places

    norm, layers, steps, pools = torch.ones(SMALL.hidden), [], {}, kernels.pools(ROWS[-1] // _BLOCK)
    for _ in range(SMALL.layers):
        qkv, output, gate_up, down = (torch.randn(out, depth) / depth**0.5 for out, depth in floor.shapes())
        layers.append(kernels.layer(LayerWeights(norm, qkv, output, norm, gate_up, down, 1e-5)))
    for rows in ROWS:
        places = torch.arange(rows)
        slots = (places[:, None] // _BLOCK * SMALL.kv_heads + torch.arange(SMALL.kv_heads)) * _BLOCK + places[:, None] % _BLOCK
        where = Places(*reference.rotary_tables(rows, frequencies.Plain(1e4).of(SMALL.head_dim)), slots.reshape(-1))
        steps[rows] = (torch.randn(rows, SMALL.hidden), torch.randn(rows, SMALL.heads, SMALL.head_dim), where)

    def step(rows: int) -> None:
        hidden, attended, where = steps[rows]
        for layer in layers:
            layer.project(hidden, where, *pools)
            layer.finish(hidden, attended)

    return step
