"""Which queues a worker reads is changed on the transport's thread, and not forgotten while there is no broker yet."""

from collections.abc import Callable, Iterator

import pytest

from engine_queue.pool import EnginePool
from engine_queue.stat import StatConsumer


class Loop:
    """Calls at once."""

    def call_soon(self, call: Callable[[], object]) -> None:
        call()


class Reads(StatConsumer):
    """Notes the queues that it is to read."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def read(self, stat: str, routine: str) -> None:
        self.told.append(("read", stat, routine))

    def leave(self, stat: str, routine: str) -> None:
        self.told.append(("leave", stat, routine))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[EnginePool]:
    monkeypatch.setattr(StatConsumer, "running", None)
    made = EnginePool(limit=1)
    made._hub = None
    yield made
    StatConsumer.changes.clear()


def test_what_was_asked_before_there_was_a_broker_is_done_when_there_is_one(pool: EnginePool) -> None:
    pool.follow("new")
    pool.leave("old")
    StatConsumer.running = reads = Reads()
    pool.register_with_event_loop(Loop())
    assert reads.told == [("read", "stat.new", "routine.new"), ("leave", "stat.old", "routine.old")]


def test_with_a_broker_it_is_done_at_once_and_once(pool: EnginePool) -> None:
    StatConsumer.running = reads = Reads()
    pool.register_with_event_loop(Loop())
    pool.follow("new")
    pool.register_with_event_loop(Loop())
    assert reads.told == [("read", "stat.new", "routine.new")]
