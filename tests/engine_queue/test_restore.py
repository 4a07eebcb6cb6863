"""What a lost connection to the broker may not do to a worker."""

from types import SimpleNamespace

import pytest
from celery.worker.consumer import Consumer

from engine_queue import restore


class Torn:
    """A connection whose client the event loop has closed before it is put away."""

    connection_errors = (ConnectionError,)
    channel_errors = ()
    transport = _default_channel = _channels = None

    def collect(self, socket_timeout: float | None = None) -> None:
        pass

    def close(self) -> None:
        raise AttributeError("'NoneType' object has no attribute 'hostname'")


class Bare(Consumer):
    """celery's own, without its blueprint."""

    def __init__(self) -> None:
        self.connection = Torn()
        self.app = SimpleNamespace(conf=SimpleNamespace(worker_cancel_long_running_tasks_on_connection_loss=True))


def test_a_connection_that_cannot_be_put_away_does_not_end_the_worker() -> None:
    consumer = Bare()
    restore.SafeLoss(consumer).start(consumer)
    consumer.on_connection_error_after_connected(ConnectionError("closed by the server"))
    assert consumer.connection is None, "it connects anew"


def test_celery_itself_lets_it_end_the_worker() -> None:
    """When this no longer holds, `SafeLoss` can go."""
    with pytest.raises(AttributeError):
        Bare().on_connection_error_after_connected(ConnectionError("closed by the server"))
