"""A Celery pool that hands tickets to the crew and acknowledges them when their job is written: no thread per request.

Used as `-P custom` with CELERY_CUSTOM_WORKER_POOL=engine_queue.pool:EnginePool; the command names the crew first.
"""

import itertools
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import structlog
from celery.concurrency.base import BasePool

from engine_queue import tickets
from engine_queue.crew import Crew
from engine_queue.stat import StatConsumer
from engine_queue.work import Ticket

log = structlog.get_logger(__name__)

Callback = Callable[..., object]


class EnginePool(BasePool):
    """The transport's side of a worker. Everything here but `_settle` runs on the transport's thread."""

    crew: ClassVar[Crew]
    drain_seconds: ClassVar[float] = 5.0
    body_can_be_buffer = True
    signal_safe = False
    task_join_will_block = False

    def on_start(self) -> None:
        """Nothing is forked or spawned here: the crew has its threads."""
        self._numbers = itertools.count(1)
        self._settled: deque[tuple[Callback, float]] = deque()
        self._hub: Any = None
        self.crew.transport = self
        self.crew.start()
        self.crew.pauses.watch()

    def register_with_event_loop(self, loop: Any) -> None:
        """Remember the loop: acknowledging belongs on its thread."""
        self._hub = loop
        StatConsumer.catch_up()

    def on_apply(
        self, target: Callback, args: Any, kwargs: Any, callback: Callback, accept_callback: Callback | None = None, **_: Any
    ) -> None:
        """Take a ticket. The number given as "pid" is what `terminate_job` gets."""
        name, task_id, request, *_rest = args
        number, began = next(self._numbers), time.monotonic()
        if accept_callback is not None:
            accept_callback(number, began)
        if name == tickets.TASK:
            lane, _dot, deployment = str(request["delivery_info"]["routing_key"]).partition(".")
            self.crew.offer(Ticket(number, task_id, lane == "stat", partial(self._settle, callback, began), deployment))
        else:
            log.error("pool.not_a_ticket", task=str(name))
            self._settle(callback, began)

    def follow(self, deployment: str) -> None:
        """Read the queues of one more deployment (`crew.Transport`)."""
        self._on_the_loop(lambda stat: stat.read(tickets.stat_queue(deployment), tickets.routine_queue(deployment)))

    def leave(self, deployment: str) -> None:
        """Read them no more."""
        self._on_the_loop(lambda stat: stat.leave(tickets.stat_queue(deployment), tickets.routine_queue(deployment)))

    def terminate_job(self, pid: int, signal: int | None = None) -> None:
        """`revoke(terminate=True)`: stop what this ticket led to."""
        self.crew.revoke(pid)

    def on_stop(self) -> None:
        """Drain, within the limit; what is left keeps its message, which the broker gives out again."""
        self.crew.drain(self.drain_seconds)
        self._acknowledge()
        self.crew.stop()

    def on_terminate(self) -> None:
        """Cold shutdown: nothing is waited for, the next incarnation takes everything back."""

    def _on_the_loop(self, change: Callable[[StatConsumer], None]) -> None:
        """Queues are changed where they are read: kombu's channels belong to one thread."""
        StatConsumer.changes.append(change)
        if self._hub is not None:
            self._hub.call_soon(StatConsumer.catch_up)

    def _settle(self, callback: Callback, began: float) -> None:
        """Called by the finisher when a job is written. Waking the loop is all that happens on its thread."""
        self._settled.append((callback, began))
        if self._hub is not None:
            self._hub.call_soon(self._acknowledge)

    def _acknowledge(self) -> None:
        while self._settled:
            callback, began = self._settled.popleft()
            try:
                callback((0, None, time.monotonic() - began))
            except Exception as error:  # noqa: BLE001 -- the edge to celery: an acknowledgement lost costs one spare ticket
                log.warning("pool.not_acknowledged", error=type(error).__name__)
