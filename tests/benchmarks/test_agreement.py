"""What a peer may answer and still have a time."""

import math
from pathlib import Path

import pytest

from benchmarks import agreement
from benchmarks.ours import Ours, default, generation
from benchmarks.peer import Work

WORK = (Work((4, 5, 6, 7), 6), Work((5, 5, 4), 4))
OURS = [((), (-1.0, -2.0)), ((), (-0.5,))]


@pytest.fixture(scope="module")
def engine(tiny_model: Path) -> Ours:
    return Ours(tiny_model, default("fp32"))


@pytest.fixture(scope="module")
def drawn(engine: Ours) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    return list(engine.contestant(generation(WORK))(math.inf).answers)


def test_the_same_ids_are_right(engine: Ours, drawn: list[tuple[tuple[int, ...], tuple[float, ...]]]) -> None:
    assert agreement.greedy(engine, WORK, "fp32")("peer", drawn, [list(ids) for ids, _ in drawn]) == ""


def test_another_id_is_wrong_unless_it_is_nearly_as_likely(
    engine: Ours, drawn: list[tuple[tuple[int, ...], tuple[float, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = [list(ids) for ids, _ in drawn]
    theirs[0][2] = next(other for other in range(16) if other != theirs[0][2])
    assert "nats less likely" in agreement.greedy(engine, WORK, "fp32")("peer", drawn, theirs)
    monkeypatch.setitem(agreement.NEAR_TIE, "fp32", 100.0)
    assert agreement.greedy(engine, WORK, "fp32")("peer", drawn, theirs) == ""


def test_an_answer_that_ended_early_is_wrong(engine: Ours, drawn: list[tuple[tuple[int, ...], tuple[float, ...]]]) -> None:
    theirs = [list(drawn[0][0])[:-1], list(drawn[1][0])]
    assert "1 of 2 answers" in agreement.greedy(engine, WORK, "fp32")("peer", drawn, theirs)


@pytest.mark.parametrize(
    ("theirs", "right"), [([-3.0, -0.5], True), ([-3.05, -0.5], True), ([-3.06, -0.5], False), ([-3.0, math.nan], False)]
)
def test_sums_may_differ_by_the_stated_nats_a_token(theirs: list[float], right: bool) -> None:
    assert (agreement.sums([512, 512], "fp32")("peer", OURS, theirs) == "") is right


@pytest.mark.parametrize(("off", "right"), [(0.0063, True), (0.0065, False)])
def test_sums_of_few_tokens_may_scatter_by_the_root_of_what_is_missing(off: float, right: bool) -> None:
    assert (agreement.sums([8, 8], "fp32")("peer", OURS, [-3.0 - off, -0.5]) == "") is right


@pytest.mark.parametrize(("values", "largest"), [([], 0.0), ([1.0, 3.0, 2.0], 3.0)])
def test_the_largest(values: list[float], largest: float) -> None:
    assert agreement.largest(values) == largest


def test_what_is_no_number_is_not_passed_over() -> None:
    assert math.isnan(agreement.largest([0.0, math.nan, 1.0]))
