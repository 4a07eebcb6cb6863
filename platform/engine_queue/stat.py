"""A second consumer, for STAT: its own channel and credits, so that routine work that holds all of its own is not in the way."""

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import structlog
from celery import bootsteps
from kombu import Queue

log = structlog.get_logger(__name__)


class StatConsumer(bootsteps.StartStopStep):
    """Consumes `stat.<deployment>` with celery's own request machinery. `queues` and `credits` are set by the command."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    queues: tuple[str, ...] = ()
    credits = 4
    running: "StatConsumer | None" = None  # with the transport's connection, once that is up
    changes: ClassVar["deque[Callable[[StatConsumer], None]]"] = deque()  # of queues, asked for and not yet made

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        super().__init__(consumer, **kwargs)
        self._consumer: Any = None
        self._main: Any = None

    def start(self, consumer: Any) -> None:
        """Open the channel and consume."""
        channel = consumer.connection.channel()
        channel.basic_qos(0, self.credits, False)
        queues = [Queue(name, routing_key=name) for name in self.queues]  # without a routing key it binds to the default one
        self._consumer = consumer.app.amqp.TaskConsumer(channel, queues=queues, on_decode_error=consumer.on_decode_error)
        self._consumer.on_message = consumer.create_task_handler()
        self._consumer.consume()
        self._main, StatConsumer.running = consumer, self
        self.catch_up()

    @classmethod
    def catch_up(cls) -> None:
        """Make the changes that were asked for, on the transport's thread; while the broker was never there, they wait."""
        while cls.changes and cls.running is not None:
            cls.changes.popleft()(cls.running)

    def read(self, stat: str, routine: str) -> None:
        """Consume two more queues, on the transport's thread. What a dead channel refuses is consumed when it is open again."""
        StatConsumer.queues = tuple(dict.fromkeys([*self.queues, stat]))
        _guarded(lambda: self._main.add_task_queue(routine, routing_key=routine))
        _guarded(lambda: self._consumer.add_queue(Queue(stat, routing_key=stat)))
        _guarded(lambda: self._consumer.consume())

    def leave(self, stat: str, routine: str) -> None:
        """Consume these two no more, on the transport's thread."""
        StatConsumer.queues = tuple(queue for queue in self.queues if queue != stat)
        _guarded(lambda: self._main.cancel_task_queue(routine))
        _guarded(lambda: self._consumer.cancel_by_queue(stat))

    def stop(self, consumer: Any) -> None:
        """Take no more tickets; those taken can still be acknowledged."""
        if self._consumer is not None:
            _guarded(self._consumer.cancel)

    def shutdown(self, consumer: Any) -> None:
        """Close."""
        if self._consumer is not None:
            _guarded(self._consumer.close)
            self._consumer = None


def _guarded(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 -- the edge to kombu: after a broker crash its dead channels raise anything
        log.warning("stat.channel_gone", error=type(error).__name__)
