"""Operations whose bits follow from their written order."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import exact, frequencies, reference


@pytest.mark.parametrize("width", [1, 2, 3, 7, 64, 80, 129])
def test_an_ordered_sum_gives_a_row_the_same_bits_in_any_company(width: int) -> None:
    x = torch.randn(50, width, generator=torch.Generator().manual_seed(width))
    whole = exact.ordered_sum(x)
    assert all(torch.equal(exact.ordered_sum(x[start:end]), whole[start:end]) for start, end in ((0, 1), (3, 20), (49, 50)))
    assert torch.allclose(whole[:, 0].double(), x.double().sum(-1), atol=1e-5)


def test_an_ordered_sum_leaves_its_input_alone() -> None:
    x = torch.randn(4, 5)
    before = x.clone()
    exact.ordered_sum(x)
    assert torch.equal(x, before)


def test_the_ordered_exponential_is_exact_to_two_units_in_the_last_place() -> None:
    x = torch.linspace(-87, 88, 200_001)
    relative = (exact.ordered_exp(x).double() / x.double().exp() - 1).abs()
    assert relative.max() < 2.0**-22


def test_the_ordered_exponential_keeps_its_limits() -> None:
    assert exact.ordered_exp(torch.tensor([-math.inf, -1e30, 0.0])).tolist() == [0.0, 0.0, 1.0]
    assert exact.ordered_exp(torch.tensor([math.nan])).isnan().all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(0, 40))
def test_the_exponential_in_use_does_not_depend_on_length_or_offset(length: int, offset: int) -> None:
    x = torch.randn(400, generator=torch.Generator().manual_seed(9)) * 5
    whole = exact.exp_(x.clone())
    assert torch.equal(exact.exp_(x[offset : offset + length].clone()), whole[offset : offset + length])


def test_a_probe_for_another_thread_count_proves_nothing() -> None:
    assert not exact.library_exp_is_safe(1009)  # a count that no test runs at: what was proven at another is remembered


def test_logarithms_keep_their_limits() -> None:
    assert exact.log_of(torch.tensor([1.0, 0.0])).tolist() == [0.0, -math.inf]
    assert exact.log_of(torch.tensor([math.nan, -1.0])).isnan().all()


@pytest.mark.parametrize("rows", [1, 3, 17, 256])
def test_norm_silu_and_rotary_keep_a_row_in_any_company(rows: int) -> None:
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(300, 96, generator=generator), torch.rand(96, generator=generator)
    cos, sin = reference.rotary_tables(300, frequencies.Plain(1e4).of(24))
    heads = x.view(300, 4, 24)
    for whole, part in (
        (reference.rms_norm(x, weight, 1e-5), reference.rms_norm(x[7 : 7 + rows], weight, 1e-5)),
        (reference.silu_mul(x), reference.silu_mul(x[7 : 7 + rows])),
        (reference.rotary(heads, cos, sin), reference.rotary(heads[7 : 7 + rows], cos[7 : 7 + rows], sin[7 : 7 + rows])),
    ):
        assert torch.equal(whole[7 : 7 + rows], part)


def test_a_log_probability_is_put_together_from_its_line() -> None:
    logits = torch.randn(9, 33, generator=torch.Generator().manual_seed(2)) * 3
    maximum, log_total = reference.normalisers(logits)
    together = (logits - maximum[:, None]) - log_total[:, None]
    assert torch.equal(together[:, 5], reference.log_probabilities(logits, torch.full((9,), 5)))


def test_log_probabilities_are_normalised_over_the_whole_vocabulary() -> None:
    logits = torch.randn(9, 33, generator=torch.Generator().manual_seed(1)) * 3
    columns = [reference.log_probabilities(logits, torch.full((9,), token)) for token in range(33)]
    assert torch.allclose(torch.stack(columns, 1), logits.log_softmax(-1), atol=1e-5)
