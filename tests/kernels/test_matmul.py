"""Products whose rows keep their bits, the probe that finds them, and the control that shows why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from kernels import matmul

ROOT = Path(__file__).resolve().parents[2]
SHAPES = [(96, 40), (112, 80), (80, 11), (33, 70)]
UNPADDED = """
import torch
torch.set_num_threads(2)
found = []
for width, columns in ((256, 512), (688, 256)):
    x, w = torch.randn(512, width), torch.randn(columns, width)
    whole = x @ w.T
    found += [rows for rows in range(1, 130) if not torch.equal(x[:rows].clone() @ w.T, whole[:rows])]
print(len(found))
"""


@pytest.mark.parametrize(("width", "columns"), SHAPES)
def test_a_linear_layer_gives_a_row_the_same_bits_in_any_company(width: int, columns: int) -> None:
    generator = torch.Generator().manual_seed(width)
    linear = matmul.Linear(torch.randn(columns, width, generator=generator))
    x = torch.randn(700, width, generator=generator)
    whole = linear(x)
    for start, end in ((0, 1), (699, 700), (5, 12), (100, 101), (31, 200), (1, 700)):
        assert torch.equal(linear(x[start:end]), whole[start:end])
    assert torch.allclose(whole.double(), x.double() @ linear.columns.double(), atol=1e-3)


def test_without_a_safe_count_the_ordered_product_is_used_and_right() -> None:
    generator = torch.Generator().manual_seed(0)
    weight, x = torch.randn(40, 96, generator=generator), torch.randn(60, 96, generator=generator)
    linear = matmul.Linear(weight, counts=())
    whole = linear(x)
    assert all(torch.equal(linear(x[row : row + 1]), whole[row : row + 1]) for row in range(60))
    assert torch.allclose(whole.double(), x.double() @ weight.double().T, atol=1e-4)


@pytest.mark.parametrize("counts", [(16,), (12, 48), (64, 512)])
def test_rows_are_cut_and_padded_to_the_safe_counts(monkeypatch: pytest.MonkeyPatch, counts: tuple[int, ...]) -> None:
    """Only proven row counts reach the library, and every row comes back."""
    seen: list[int] = []
    library = torch.mm

    def spy(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
        seen.append(a.shape[0])
        return library(a, b) if out is None else library(a, b, out=out)

    monkeypatch.setattr(torch, "mm", spy)
    weight, x = torch.randn(7, 32), torch.randn(130, 32)
    y = matmul.Linear(weight, counts)(x)
    assert set(seen) <= set(counts)
    assert torch.allclose(y, x @ weight.T, atol=1e-4)


def test_of_a_product_that_depends_on_the_position_the_probe_leaves_single_rows_at_most() -> None:
    assert matmul.row_counts(lambda x: x[:, :4] + torch.arange(len(x))[:, None] * 1e-7, 8) == (1,)
    assert matmul.row_counts(lambda x: x[:, :4] + torch.arange(len(x))[:, None] * 1e-7, 8, counts=(4, 16)) == ()


def test_the_probe_leaves_out_row_counts_that_give_other_bits() -> None:
    """A product that sums in another order below 48 rows, as libraries do."""

    def product(x: Tensor) -> Tensor:
        return x[:, :1] + x[:, 1:2] + x[:, 2:3] if len(x) >= 48 else x[:, :1] + (x[:, 1:2] + x[:, 2:3])

    counts = matmul.row_counts(product, 8)
    assert counts[-1] == matmul.LARGEST
    assert 48 in counts
    assert 32 not in counts


@pytest.mark.parametrize("threads", [1, 2])
def test_attention_tiles_keep_their_bits_alone_and_in_a_batch(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        product = matmul.tile_product(tall=128, short=16, depth=24, tile=64, largest=32, threads=threads)
        a, b = torch.randn(32, 128, 24), torch.randn(32, 64, 24)
        whole = product(a, b.transpose(1, 2))
        for items in {product.batches[wanted] for wanted in (1, 3, 5, 17)}:
            assert torch.equal(product(a[:items].clone(), b[:items].transpose(1, 2)), whole[:items])
        short = product(a[:, 40 : 40 + product.short].contiguous(), b.transpose(1, 2)) if product.short < 128 else None
        assert short is None or torch.equal(short, whole[:, 40 : 40 + product.short])
    finally:
        torch.set_num_threads(before)


def test_control_a_plain_product_of_unpadded_rows_changes_its_bits() -> None:
    """The negative control, in a process whose library is not in its reproducible mode."""
    environment = {key: value for key, value in os.environ.items() if key != "MKL_CBWR"}
    run = subprocess.run([sys.executable, "-c", UNPADDED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    if run.stdout.strip() == "0":
        pytest.skip("the library of this machine gives rows the same bits for every number of rows")
    assert int(run.stdout) > 0
