"""Messages of a dead incarnation come back at boot, and acknowledgements on a dead connection harm nobody.

Every worker keeps its unacknowledged messages under keys of its own name, and takes them back itself when it connects. The
broker's own way, a visibility time-out, is either an hour late or runs long work twice.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
from celery import bootsteps

log = structlog.get_logger(__name__)


INDEX = "unacked_index:"


def own_keys(worker: str) -> Mapping[str, object]:
    """Transport options of a worker that takes its messages back itself; nobody else's clock ends its work."""
    return {
        "unacked_key": f"unacked:{worker}",
        "unacked_index_key": f"{INDEX}{worker}",
        "unacked_mutex_key": f"unacked_mutex:{worker}",
        "visibility_timeout": 7 * 24 * 3600,
    }


def give_back(channel: Any) -> int:
    """Give everything that lies under a channel's keys back to its queue, each message once whoever else tries; how many."""
    tags = channel.client.zrange(channel.unacked_index_key, 0, -1)
    for tag in tags:
        channel.qos.restore_by_tag(tag.decode() if isinstance(tag, bytes) else tag)
    return len(tags)


class RestoreOwn(bootsteps.StartStopStep):
    """On every connect: what lies under our keys was given to a connection that is gone.

    No message is read before all steps have started, so nothing of the new connection lies there yet.
    """

    requires = ("celery.worker.consumer.connection:Connection",)

    def start(self, consumer: Any) -> None:
        """Give everything back to its queue."""
        channel = consumer.connection.channel()
        try:
            count = give_back(channel)
        finally:
            channel.close()
        if count:
            log.warning("restore.messages", count=count)

    def stop(self, consumer: Any) -> None:
        """Nothing to undo."""


class SafeAcknowledgements(bootsteps.StartStopStep):
    """An acknowledgement scheduled for a connection that died is dropped; raised in the event loop it would end the worker."""

    requires = ("celery.worker.consumer.connection:Connection",)

    def start(self, consumer: Any) -> None:
        """Wrap what the loop is asked to call."""

        def call_soon_ack(call: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
            return consumer.call_soon(_tried, call, *args, **kwargs)

        consumer.call_soon_ack = call_soon_ack

    def stop(self, consumer: Any) -> None:
        """Nothing to undo."""


class SafeLoss(bootsteps.StartStopStep):
    """A connection that is lost cannot end the worker while it is put away.

    kombu gives unacknowledged messages back as it closes a connection, over a client that the event loop may have closed just
    before: an AttributeError, which celery does not take for a loss. The messages lie under our keys, and `RestoreOwn` gives
    them back with the next connection.
    """

    requires = ("celery.worker.consumer.connection:Connection",)

    def start(self, consumer: Any) -> None:
        """Wrap what the consumer does about a loss."""
        plain = type(consumer).on_connection_error_after_connected

        def lost(error: Exception) -> None:
            _tried(plain, consumer, error, event="restore.connection_put_away_badly")

        consumer.on_connection_error_after_connected = lost

    def stop(self, consumer: Any) -> None:
        """Nothing to undo."""


def _tried(call: Callable[..., object], *args: Any, event: str = "restore.acknowledgement_dropped", **kwargs: Any) -> None:
    try:
        call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 -- the edge to kombu: the broker gives the message out again
        log.warning(event, error=type(error).__name__)
