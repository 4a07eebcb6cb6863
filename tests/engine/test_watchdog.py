"""A step that does not end is noticed while it is not ending, once, and so is its end."""

from __future__ import annotations

import logging

import pytest

from engine.watchdog import Watchdog


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def dog(clock: Clock) -> Watchdog:
    return Watchdog(10.0, lambda: "3 rows of requests 4, 5 and 6", clock)


def critical(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == logging.CRITICAL]


def test_a_step_within_its_limit_is_nobodys_business(dog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    dog.begin(7)
    clock.now += 10.0
    dog.look()
    dog.end()
    assert (dog.complaint, dog.trips, caplog.records) == ("", 0, [])


def test_a_long_step_is_named_once_with_its_rows(dog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    dog.begin(7)
    clock.now += 12.0
    for _ in range(3):
        dog.look()
    assert dog.complaint == "step 7 has run for 12 s"
    assert critical(caplog) == ["step 7 has run for 12 s, more than 10 s: 3 rows of requests 4, 5 and 6"]
    assert dog.trips == 1


def test_its_end_is_told_and_the_next_step_begins_with_a_clean_slate(
    dog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    dog.begin(7)
    clock.now += 12.0
    dog.look()
    clock.now += 30.0
    dog.end()
    assert "step 7 ended after 42.0 s" in caplog.messages[-1]
    dog.begin(8)
    clock.now += 1.0
    assert (dog.complaint, dog.trips) == ("", 1)


def test_a_long_step_that_nobody_looked_at_is_counted_at_its_end(
    dog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    dog.begin(7)
    clock.now += 11.0
    dog.end()
    assert (dog.trips, len(critical(caplog))) == (1, 1)


def test_between_steps_time_is_nobodys(dog: Watchdog, clock: Clock) -> None:
    dog.begin(7)
    dog.end()
    clock.now += 1000.0
    dog.look()
    assert (dog.complaint, dog.trips) == ("", 0)


def test_the_next_step_is_not_blamed_for_one_that_ends_while_it_is_looked_at(dog: Watchdog, clock: Clock) -> None:
    """The engine goes on as soon as the watchdog lets go of what they share."""

    class Between:
        left = 0

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            self.left += 1
            if self.left == 1:
                dog.end()
                dog.begin(8)

    dog.begin(7)
    clock.now += 12.0
    dog._lock = Between()  # type: ignore[assignment]
    dog.look()
    assert (dog.trips, dog.complaint, dog._tripped) == (1, "", False)
