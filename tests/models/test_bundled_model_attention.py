"""Attention in blocks is attention with a banded mask, forwards and backwards."""

import pytest
import torch
from torch.nn import functional as F

from models.training.banded import banded_attention


def masked_attention(query, key, value, window):
    place = torch.arange(query.shape[2])
    behind = place[:, None] - place[None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=(behind >= 0) & (behind < window), enable_gqa=True)


def drawn(length):
    torch.manual_seed(length)
    return [torch.randn(2, heads, length, 8, requires_grad=True) for heads in (4, 2, 2)]


@pytest.mark.parametrize("window", [1, 64, 128, 129, 256])
@pytest.mark.parametrize("length", [1, 37, 128, 300])
def test_blocks_give_what_a_mask_gives(length, window):
    with torch.no_grad():
        assert torch.allclose(banded_attention(*drawn(length), window), masked_attention(*drawn(length), window), atol=1e-5)


def test_gradients_are_those_of_the_mask():
    gradients = []
    for attention in (banded_attention, masked_attention):
        parts = drawn(300)
        gradients.append(torch.autograd.grad(attention(*parts, 64).square().sum(), parts))
    assert all(torch.allclose(*pair, atol=1e-4) for pair in zip(*gradients, strict=True))


def test_what_lies_outside_the_window_changes_no_bit():
    query, key, value = (part.detach() for part in drawn(300))
    before = banded_attention(query, key, value, 64)
    key[:, :, :100] += 1.0
    value[:, :, :100] += 1.0
    assert torch.equal(banded_attention(query, key, value, 64)[:, :, 163:], before[:, :, 163:])
