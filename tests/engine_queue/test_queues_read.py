"""Which queues a worker reads is changed on the transport's thread, and not forgotten while there is no broker yet."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import current_app
from celery.worker.consumer import Consumer
from kombu import Connection, Queue

from engine_queue import tickets
from engine_queue.pool import EnginePool
from engine_queue.stat import StatConsumer
from tests.engine_queue.workers import wait_until


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


class Reader:
    """Reads queues as a worker does, without its loop: a test says when a request is sent and when its answer is read."""

    app = current_app
    add_task_queue, cancel_task_queue = Consumer.add_task_queue, Consumer.cancel_task_queue

    def __init__(self, connection: Connection, deployments: tuple[str, ...]) -> None:
        self.connection, self.read = connection, []  # type: ignore[var-annotated]
        queues = [Queue(name, routing_key=name) for name in map(tickets.routine_queue, deployments)]
        self.task_consumer = self.app.amqp.TaskConsumer(connection.channel(), queues=queues)
        self.task_consumer.on_message = self.create_task_handler()
        self.task_consumer.consume()
        StatConsumer.queues = tuple(map(tickets.stat_queue, deployments))
        self.stat = StatConsumer(self)
        self.stat.start(self)

    def create_task_handler(self) -> Callable[[Any], None]:
        return lambda message: (self.read.append(message.delivery_info["routing_key"]), message.ack())[1]

    def on_decode_error(self, message: Any, error: Exception) -> None: ...

    def ask(self) -> None:
        """Ask the broker for what comes next on every channel, and do not wait for the answer."""
        for channel in self.connection.transport.channels:
            channel.brpop_timeout = 60
        self.connection.transport.cycle.on_poll_start()

    def read_one(self) -> None:
        self.connection.drain_events(timeout=20)

    def hang_up(self) -> None:
        """What was asked is not waited for."""
        for channel in self.connection.transport.channels:
            channel._in_poll = False


@pytest.fixture
def reader(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    for name, value in (("running", None), ("queues", ())):
        monkeypatch.setattr(StatConsumer, name, value)
    monkeypatch.setattr(current_app.amqp.queues, "_consume_from", {})
    with current_app.connection_for_read() as connection:
        made = Reader(connection, ("stays", "goes"))
        yield made
        made.hang_up()


@pytest.mark.parametrize("queue", [tickets.routine_queue, tickets.stat_queue])
def test_a_ticket_that_is_read_while_its_queue_is_left_goes_back_and_the_others_are_read(
    reader: Reader, valkey_url: str, queue: Callable[[str], str]
) -> None:
    """The request that the broker answers with it was sent before."""
    left, other = queue("goes"), queue("stays")
    reader.ask()
    reader.stat.leave("stat.goes", "routine.goes")
    with redis.Redis.from_url(valkey_url) as broker:
        for name in (left, other):
            current_app.send_task(tickets.TASK, args=[{}], queue=name)
        wait_until(lambda: not broker.llen(left), 20)
        while not reader.read:
            reader.read_one()
        assert reader.read == [other]
        assert (broker.llen(left), broker.llen(other)) == (1, 0)
        reader.stat.read("stat.goes", "routine.goes")
        while len(reader.read) < 2:
            reader.ask()
            reader.read_one()
        assert reader.read == [other, left]
        assert not broker.keys("unacked*")
