"""Tests over time: the bet, the p-values, the promise about false alarms, and what they find."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from drift import sequential
from drift.measures import NotMeasurable
from drift.sequential import LabelTest, Whitened, WindowTest
from drift.thresholds import WINDOWS

QUICK = dataclasses.replace(WINDOWS, burn_in=20, fitted=20, run_length=200.0)


class TestBet:
    def test_it_integrates_to_one(self) -> None:
        """Over ln p, where it falls as 1/u² and its tail beyond u is 1/u."""
        inside, _ = integrate.quad(lambda u: sequential.bet(math.exp(-u)) * math.exp(-u), 1e-12, 600, limit=500)
        assert inside + 1 / 600 == pytest.approx(1, abs=1e-4)

    @given(st.floats(1e-300, 1))
    def test_it_never_takes_more_than_half(self, p: float) -> None:
        assert sequential.bet(p) >= 0.5

    def test_the_series_continues_the_formula(self) -> None:
        p = 1 - 1.0001e-4
        assert sequential.bet(p) == pytest.approx(0.5 + (1 - p) / 6, abs=1e-7)

    @pytest.mark.parametrize("p", [0.0, -0.1, 1.1])
    def test_it_refuses_what_is_no_p_value(self, p: float) -> None:
        with pytest.raises(NotMeasurable):
            sequential.bet(p)


class TestConformal:
    def test_p_values_of_exchangeable_windows_are_uniform(self) -> None:
        generator = np.random.default_rng(4)
        values = generator.integers(0, 9, 3000).tolist()  # many ties
        found = [
            sequential.conformal_p(value, values[max(0, place - 50) : place], sequential.chance("s", place))
            for place, value in enumerate(values)
        ]
        assert stats.kstest(found, "uniform").pvalue > 0.01

    def test_ties_are_broken_the_same_way_each_time(self) -> None:
        assert sequential.chance("stream", 7) == sequential.chance("stream", 7) != sequential.chance("stream", 8)
        assert 0 < sequential.chance("stream", 7) <= 1


class TestWindows:
    def test_it_counts_no_alarm_before_its_burn_in(self) -> None:
        test = WindowTest(QUICK)
        for place in range(QUICK.burn_in):
            test = test.step(float(place), 0.5)  # each window farther off than any before
        assert not test.armed and not test.raised

    def test_it_keeps_its_promise_where_windows_are_exchangeable(self) -> None:
        generator = np.random.default_rng(12)
        alarms = windows = 0
        for stream in range(40):
            test = WindowTest(QUICK)
            for place, value in enumerate(generator.lognormal(size=160)):
                test = test.step(float(value), sequential.chance(stream, place))
                windows += test.armed
                if test.raised:
                    alarms, test = alarms + 1, test.restarted()
        assert alarms <= windows / QUICK.run_length + 3 * math.sqrt(windows / QUICK.run_length)

    def test_it_finds_a_shift_within_a_few_windows(self) -> None:
        generator = np.random.default_rng(2)
        test = WindowTest()
        for place, value in enumerate(generator.normal(0.02, 0.004, 200)):
            test = test.step(float(value), sequential.chance("a", place))
        assert not test.raised
        for place in range(12):
            test = test.step(float(generator.normal(0.08, 0.004)), sequential.chance("a", 200 + place))
        assert test.raised

    def test_steps_taken_again_give_the_same_evidence(self) -> None:
        values = np.random.default_rng(6).random(90)
        runs = []
        for _ in range(2):
            test = WindowTest()
            for place, value in enumerate(values):
                test = test.step(float(value), sequential.chance("b", place))
            runs.append(test)
        assert runs[0] == runs[1]

    def test_what_people_closed_begins_anew_and_keeps_what_it_saw(self) -> None:
        test = WindowTest(QUICK, tuple(np.linspace(0, 1, 40)), 100.0)
        assert test.raised and not test.restarted().raised
        assert test.restarted().earlier == test.earlier

    def test_a_window_without_a_number_is_refused(self) -> None:
        with pytest.raises(NotMeasurable):
            WindowTest().step(math.nan, 0.5)


class TestWhitened:
    def wander(self, generator: np.random.Generator, windows: int) -> list[float]:
        level, means = 0.0, []
        for _ in range(windows):
            level = 0.9 * level + float(generator.normal(0, 0.05 * math.sqrt(1 - 0.81)))
            means.append(level + float(generator.normal(0, 0.005)))
        return means

    def test_it_takes_the_autocorrelation_out_once(self) -> None:
        test = Whitened()
        for place, mean in enumerate(self.wander(np.random.default_rng(1), 100)):
            test = test.step(mean, sequential.chance(place))
        assert 0.3 < test.slope <= 0.95
        assert len(test.test.earlier) == 40 and len(test.means) == 1

    def test_under_wander_it_is_quieter_than_the_plain_test(self) -> None:
        generator = np.random.default_rng(19)
        alarms = {"plain": 0, "whitened": 0}
        for stream in range(30):
            plain, whitened = WindowTest(QUICK), Whitened(WindowTest(QUICK))
            for place, mean in enumerate(self.wander(generator, 200)):
                between = sequential.chance(stream, place)
                plain, whitened = plain.step(abs(mean), between), whitened.step(mean, between)
                if plain.raised:
                    alarms["plain"], plain = alarms["plain"] + 1, plain.restarted()
                if whitened.test.raised:
                    alarms["whitened"], whitened = alarms["whitened"] + 1, whitened.restarted()
        assert alarms["whitened"] < alarms["plain"]


class TestLabels:
    def outcomes(self, generator: np.random.Generator, auroc: float, number: int) -> np.ndarray:
        return stats.norm.cdf(generator.normal(stats.norm.ppf(auroc) * math.sqrt(2), 1, number))

    def test_it_is_silent_while_the_model_ranks_as_validated(self) -> None:
        test = LabelTest(0.94)
        for placement in self.outcomes(np.random.default_rng(3), 0.94, 5000):
            test = test.step(float(placement))
        assert not test.raised and test.seen == 5000

    def test_it_finds_three_points_lost(self) -> None:
        test = LabelTest(0.94)
        for placement in self.outcomes(np.random.default_rng(3), 0.91, 1000):
            test = test.step(float(placement))
        assert test.raised
        assert not test.restarted().raised

    @pytest.mark.parametrize("validated", [0.5, 0.94, 0.9999])
    def test_no_bet_is_ever_ruined(self, validated: float) -> None:
        test = LabelTest(validated)
        for placement in (1.0, 1.0, 1.0, 0.0):
            test = test.step(placement)
        assert all(value >= 0 for value in test.sums)

    @pytest.mark.parametrize("placement", [-0.1, 1.1, math.nan])
    def test_what_is_no_placement_is_refused(self, placement: float) -> None:
        with pytest.raises(NotMeasurable):
            LabelTest(0.9).step(placement)
