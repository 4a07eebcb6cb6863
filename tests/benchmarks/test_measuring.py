"""Whole workloads on a tiny model: the keys that are promised, from real runs of the engine."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import floor, memory, mixed, models, scheduler, stub, variants, workloads
from benchmarks.measured import Measured
from benchmarks.options import Options
from benchmarks.ours import Ours, default, generation, static
from benchmarks.peer import Precision
from benchmarks.workloads import Alternate, Locus
from engine import EngineConfig
from tests.benchmarks.tiny import WORK

QUICK = Options(quick=True)


@pytest.fixture(scope="module")
def measured(tiny_model: Path) -> Measured:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "folder", lambda _shape=None: tiny_model)
        patch.setattr(floor, "gemm", lambda _precision, _threads: 1e11)
        patch.setattr(floor, "read_bandwidth", lambda _threads: 1e10)
        patch.setattr(workloads, "mixed", lambda: WORK)
        return mixed.mixed(QUICK)


def test_mixed_gives_its_figures_and_leaves_peers_out_when_quick(measured: Measured) -> None:
    expected = {"ratio_to_static_arrival", "ratio_to_static_best", "idle_slot_steps", "fraction_of_floor_fp32"}
    assert expected | {"kv_saved_vs_maxlen", "concurrency_ratio"} <= set(measured.figures)
    assert not any(key.startswith("ratio_to_best_peer") for key in measured.figures)
    assert any(note.startswith("ratio_to_best_peer_fp32 was not measured") for note in measured.notes)
    assert all(math.isfinite(value) for value in measured.figures.values())


def test_mixed_shows_ours_and_both_baselines_with_their_batch(measured: Measured) -> None:
    assert [bar.label for bar in measured.bars] == ["ours", mixed.ARRIVAL, mixed.SORTED]
    assert all(bar.value > 0 and len(bar.runs) == 1 for bar in measured.bars)
    assert all(measured.settings[label]["batch"] in (4, 8, 16, 32) for label in (mixed.ARRIVAL, mixed.SORTED))  # type: ignore[index]


def test_the_baseline_gives_our_bits_in_any_order(tiny_model: Path) -> None:
    wanted, backwards = generation(WORK), range(len(WORK))[::-1]
    answers = [
        Ours(tiny_model, config).contestant(wanted, order)(math.inf).answers
        for config, order in (
            (default("fp32"), None),
            (static("fp32", 4, WORK), range(len(WORK))),
            (static("fp32", 4, WORK), backwards),
        )
    ]
    assert answers[0] == answers[1] == answers[2]
    assert [len(tokens) for tokens, _ in answers[0]] == [piece.limit for piece in WORK]


def test_the_static_baseline_is_never_short_of_memory() -> None:
    work = workloads.mixed()
    config, alone = static("fp32", 32, work), []
    stub.Stub(config).run(generation(work), lambda batch: alone.append(len(batch.rows)))
    assert set(alone) == {32}


def test_concurrency_is_that_of_paging_and_not_of_slots() -> None:
    assert memory.concurrency(workloads.mixed(), EngineConfig()) > 2


def test_decisions_are_timed_while_everybody_generates() -> None:
    schedule, both = scheduler.decisions(8, 5)
    assert 0 < schedule < both


def test_the_least_that_variants_compute() -> None:
    locus = Locus((4,) * 11, (Alternate(5, 6), Alternate(8, 7)))
    assert variants.least([locus]) == 10 + 5 + 2


def test_the_floor_counts_two_operations_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "gemm", lambda _precision, _threads: 1e9)
    assert floor.seconds(1000, "fp32", 2) == pytest.approx(2 * 23.6, rel=0.01)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_floor_is_the_better_of_two_products(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[float] = []

    def seconds(product: Callable[[], object]) -> float:
        product()
        measured.append(2.0 - len(measured) % 2)
        return measured[-1]

    monkeypatch.setattr(floor, "_seconds", seconds)
    largest = max(2 * floor.ROWS * columns * depth for columns, depth in floor.shapes())
    assert floor.gemm.__wrapped__(precision, 1) == largest / min(measured)
