"""What this machine could do at best, measured in the same call: the rate of matrix products and the bandwidth of memory."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from benchmarks import machine
from benchmarks.measured import NotMeasured
from benchmarks.models import SMALL, Shape
from benchmarks.peer import Precision

if TYPE_CHECKING:
    from kernels import native

ROWS = 512
_ROUNDS, _SECONDS = 5, 0.15  # the best of so many, each at least so long


def shapes(shape: Shape = SMALL) -> tuple[tuple[int, int], ...]:
    """(columns, depth) of a layer's four products."""
    heads = shape.heads * shape.head_dim
    both = heads + 2 * shape.kv_heads * shape.head_dim
    return (both, shape.hidden), (shape.hidden, heads), (2 * shape.intermediate, shape.hidden), (shape.hidden, shape.intermediate)


@functools.cache
def gemm(precision: Precision, threads: int) -> float:
    """The best rate in floating-point operations per second at 512 rows, over the model's shapes, torch and our packed kernels."""
    import torch

    torch.set_num_threads(threads)
    best = 0.0
    for columns, depth in shapes():
        for product in _products(precision, columns, depth, threads):
            best = max(best, 2 * ROWS * columns * depth / _seconds(product))
    if not best:
        raise NotMeasured(f"there is no matrix product in {precision} to measure a floor with")
    return best


def _products(precision: Precision, columns: int, depth: int, threads: int) -> Iterator[Callable[[], object]]:
    import torch

    from kernels import native

    if precision == "int8":
        return
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    x, weight = torch.randn(ROWS, depth), torch.randn(columns, depth)
    inputs, matrix = x.to(dtype), weight.to(dtype)
    yield lambda: torch.nn.functional.linear(inputs, matrix)
    kernels = _kernels(precision, threads)
    if kernels is not None:
        packed = native.packed(weight, precision)
        yield lambda: kernels.linear(x, packed, columns)


def _kernels(precision: Literal["fp32", "bf16"], threads: int) -> native.Native | None:
    """Our compiled kernels at a precision, where they can be had."""
    import torch

    from kernels import native
    from kernels.errors import KernelsUnavailable
    from kernels.plan import Geometry

    geometry = Geometry(SMALL.heads, SMALL.kv_heads, SMALL.head_dim, 32, None)
    for level in native.levels(torch.backends.cpu.get_cpu_capability().lower(), precision):
        try:
            return native.Native(geometry, level, threads, precision)
        except KernelsUnavailable:
            continue
    return None


@functools.cache
def read_bandwidth(threads: int) -> float:
    """Bytes read per second from a working set of at least four times the last-level cache."""
    import torch

    torch.set_num_threads(threads)
    numbers = torch.zeros(max(256 << 20, 4 * machine.last_level_cache()) // 4)
    return numbers.numel() * 4 / _seconds(numbers.sum)


def seconds(tokens: int, precision: Precision, threads: int, shape: Shape = SMALL) -> float:
    """The least time in which the linear layers can see `tokens` rows."""
    return 2 * shape.parameters * tokens / gemm(precision, threads)


def _seconds(call: Callable[[], object]) -> float:
    """The best time of one call."""
    call()
    best = float("inf")
    for _ in range(_ROUNDS):
        calls, begun = 0, time.perf_counter()
        while (spent := time.perf_counter() - begun) < _SECONDS:
            call()
            calls += 1
        best = min(best, spent / calls)
    return best
