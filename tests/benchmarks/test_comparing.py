"""Ratios come from alternating rounds, and from right answers alone."""

import math
from collections.abc import Iterable

import pytest

from benchmarks.comparing import OURS, Comparison, Contestant, Run, Times, alternate, best_peer, report, same_bits
from benchmarks.measured import Measured
from benchmarks.peer import PeerFailed, PeerLate


def timed(log: list[str], name: str, seconds: Iterable[float], answers: tuple[int, ...] = (1, 2)) -> Contestant:
    each = iter(seconds)

    def run(_within: float) -> Run:
        log.append(name)
        return Run(next(each), answers)

    return run


def failing(error: Exception, log: list[float]) -> Contestant:
    def run(within: float) -> Run:
        log.append(within)
        raise error

    return run


def result() -> Measured:
    return Measured("mixed", "Mixed", "fp32", 3)


def test_rounds_alternate_and_the_ratio_is_that_of_medians() -> None:
    log: list[str] = []
    everybody = {OURS: timed(log, OURS, (1.0, 9.0, 2.0)), "peer": timed(log, "peer", (4.0, 5.0, 50.0))}
    found = alternate(everybody, 3, same_bits)
    assert log == [OURS, "peer"] * 3
    assert found.ratio("peer") == pytest.approx(5.0 / 2.0)


def test_a_wrong_answer_has_no_time() -> None:
    log: list[str] = []
    everybody = {OURS: timed(log, OURS, (1.0, 1.0)), "peer": timed(log, "peer", (0.1,), answers=(1, 3))}
    found = alternate(everybody, 2, same_bits)
    assert log == [OURS, "peer", OURS]
    assert not found.measured("peer")
    assert "1 of 2 answers" in found.times["peer"].fault


def test_who_is_late_gets_five_times_our_time_and_is_asked_once() -> None:
    given: list[float] = []
    everybody = {OURS: timed([], OURS, (2.0, 2.0)), "peer": failing(PeerLate("slow"), given)}
    found = alternate(everybody, 2, same_bits)
    assert given == [10.0]
    assert found.ratio("peer") == 5.0
    measured = result()
    best_peer(measured, found, ["peer"], "ratio_to_best_peer")
    assert measured.late == ["ratio_to_best_peer"]


def test_ours_has_no_limit() -> None:
    given: list[float] = []

    def run(within: float) -> Run:
        given.append(within)
        return Run(1.0, ())

    alternate({OURS: run}, 1, same_bits)
    assert given == [math.inf]


def test_the_best_peer_is_the_fastest_that_answered_rightly() -> None:
    times = {
        OURS: Times([1.0]),
        "wrong": Times([0.1], fault="wrong"),
        "fast": Times([2.0]),
        "slow": Times([3.0]),
        "late": Times(late=True),
    }
    measured = result()
    best_peer(measured, Comparison(times, 0.0), ["wrong", "fast", "slow", "late"], "ratio_to_best_peer")
    assert measured.figures == {"ratio_to_best_peer": 2.0}
    assert measured.late == []


@pytest.mark.parametrize("names", [[], ["dead"]])
def test_without_a_peer_the_figure_is_absent(names: list[str]) -> None:
    found = alternate({OURS: timed([], OURS, (1.0,)), "dead": failing(PeerFailed("it ended"), [])}, 1, same_bits)
    measured = result()
    best_peer(measured, found, names, "ratio_to_best_peer")
    assert measured.figures == {}
    assert "ratio_to_best_peer was not measured" in measured.notes[0]


def test_both_absolutes_are_shown() -> None:
    found = alternate({OURS: timed([], OURS, (2.0,)), "peer": timed([], "peer", (4.0,))}, 1, same_bits)
    measured = result()
    report(measured, found, 8.0, "tokens/s")
    assert [(bar.label, bar.value, bar.ratio) for bar in measured.bars] == [(OURS, 4.0, None), ("peer", 2.0, 2.0)]
