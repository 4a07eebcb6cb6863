"""A stream of windows: when it is silent, when it makes a note, when it calls, and that few observations are never green."""

import dataclasses
import math

import numpy as np
import pytest

from drift import measures
from drift.measures import NotMeasurable
from drift.streams import Light, Stream, Window
from drift.thresholds import WINDOWS

QUICK = dataclasses.replace(WINDOWS, least=500, fitted=20)
REFERENCE = np.random.default_rng(0).normal(0, 1, 50_000)
EDGES = measures.edges_of(REFERENCE)
COUNTS = tuple(measures.counted(REFERENCE, EDGES).tolist())


def window(name: str, values: np.ndarray) -> Window:
    mean = float(values.mean()) if len(values) else math.nan
    return Window(name, tuple(measures.counted(values, EDGES).tolist()), mean)


def learnt(seed: int = 1, *, size: int = 4000, wander: float = 0.0) -> Stream:
    generator = np.random.default_rng(seed)
    stream = Stream.begun(COUNTS, QUICK)
    for place in range(QUICK.fitted + QUICK.burn_in + 5):
        level = wander * math.sin(place / 4)
        stream = stream.step(window(f"{seed} {place}", generator.normal(level, 1, size)))
    return stream


def followed(stream: Stream, shift: float, windows: int, spread: float = 1.0) -> list[Light]:
    generator = np.random.default_rng(77)
    lights = []
    for place in range(windows):
        stream = stream.step(window(f"later {place}", generator.normal(shift, spread, 4000)))
        lights.append(stream.light)
    return lights


class TestLights:
    def test_it_learns_first_and_is_steady_then(self) -> None:
        assert Stream.begun(COUNTS, QUICK).light is Light.FEW
        stream = learnt()
        assert stream.light is Light.STEADY
        assert set(followed(stream, 0.0, 20)) == {Light.STEADY}

    def test_a_shift_of_a_fifth_of_a_standard_deviation_calls_people(self) -> None:
        assert Light.PAGE in followed(learnt(), 0.2, 10)

    def test_a_shift_too_small_to_matter_is_a_note_and_no_call(self) -> None:
        lights = followed(learnt(), 0.08, 30)
        assert Light.MOVED in lights and Light.PAGE not in lights

    def test_a_change_of_shape_alone_is_a_note(self) -> None:
        lights = followed(learnt(), 0.0, 20, spread=1.3)
        assert Light.MOVED in lights and Light.PAGE not in lights

    def test_a_single_window_far_off_calls_at_once_even_while_it_learns(self) -> None:
        stream = Stream.begun(COUNTS, QUICK)
        assert stream.step(window("a", np.full(600, 2.0))).light is Light.GROSS

    def test_a_stream_that_moved_while_it_learnt_has_a_wider_gate(self) -> None:
        still, moving = learnt(), learnt(wander=0.3)
        assert still.gate == QUICK.gate < moving.gate

    def test_a_window_far_off_while_it_learns_does_not_widen_the_gate(self) -> None:
        generator = np.random.default_rng(9)
        stream = Stream.begun(COUNTS, QUICK)
        for place in range(30):
            stream = stream.step(window(f"{place}", generator.normal(3.0 if place == 12 else 0.0, 1, 4000)))
        assert stream.learning and stream.gate == QUICK.gate

    def test_what_people_closed_is_steady_until_new_evidence(self) -> None:
        stream = learnt()
        for place in range(8):
            stream = stream.step(window(f"x {place}", np.random.default_rng(place).normal(0.3, 1, 4000)))
        assert stream.light is Light.PAGE
        assert stream.restarted().light is Light.STEADY and not stream.restarted().whitened.test.raised


class TestFewObservations:
    def test_a_small_window_is_carried_and_never_green(self) -> None:
        stream = learnt().step(window("few", np.zeros(10)))
        assert stream.light is Light.FEW

    def test_carried_windows_count_once_they_are_enough(self) -> None:
        values = np.random.default_rng(5).normal(0, 1, 600)
        stream = learnt()
        halves = stream.step(window("first", values[:300])).step(window("second", values[300:]))
        assert halves.light is Light.STEADY and halves.carried is None
        assert halves == stream.step(window("second", values))

    def test_a_window_without_any_is_carried_too(self) -> None:
        stream = learnt()
        values = np.random.default_rng(5).normal(0, 1, 600)
        assert stream.step(window("none", values[:0])).step(window("w", values)) == stream.step(window("w", values))

    def test_other_bins_are_refused(self) -> None:
        with pytest.raises(NotMeasurable, match="other bins"):
            Stream.begun(COUNTS, QUICK).step(Window("a", (1, 2, 3), 0.0))
