"""Angles of any position from a bounded table and pages made on demand."""

from __future__ import annotations

import pytest
import torch

from kernels import reference, rotary
from kernels.frequencies import Plain
from kernels.rotary import Rotary


def test_rows_of_the_table_and_of_pages_are_those_of_one_long_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions out of order, on both sides of every edge, and more pages than are kept."""
    monkeypatch.setattr(rotary, "TABLE", 2 * rotary.PAGE)
    monkeypatch.setattr(rotary, "KEPT", 1)
    length = 5 * rotary.PAGE
    found = Rotary(length, 24, Plain(1e4))
    positions = torch.randperm(length, generator=torch.Generator().manual_seed(0))[:3000]
    edges = torch.tensor([page * rotary.PAGE + shift for page in range(1, 5) for shift in (-1, 0)])
    for wanted in (positions, edges, edges.flip(0), torch.tensor([length - 1]), torch.tensor([0, 5])):
        whole = [table.index_select(0, wanted) for table in reference.rotary_tables(length, Plain(1e4).of(24))]
        assert all(torch.equal(rows, expected) for rows, expected in zip(found.rows(wanted), whole, strict=True))
    assert len(found._pages) == 1


def test_a_long_context_costs_no_memory_before_its_positions_are_asked_for() -> None:
    found = Rotary(1 << 24, 8, Plain(1e4))
    assert len(found._cos) == rotary.TABLE
    cos, _ = found.rows(torch.tensor([(1 << 24) - 1]))
    assert cos[0, 0] == torch.tensor(float((1 << 24) - 1), dtype=torch.float64).cos().float()


@pytest.mark.parametrize("context", [1, 100, rotary.PAGE + 1])
def test_the_table_ends_with_the_context(context: int) -> None:
    assert len(Rotary(context, 8, Plain(1e4))._cos) == context
