"""Messages of workers that never come back: at boot each takes back its own, so those of a name never used again would stay."""

from datetime import timedelta

import redis
import structlog
from celery import current_app
from django.db import transaction
from django.db.models import QuerySet

from engine_queue import lease, restore
from engine_queue.lease_time import DatabaseNow
from engine_queue.models import Worker

log = structlog.get_logger(__name__)

LONG_GONE = timedelta(minutes=10)  # since its lease ended; whoever restarts comes back sooner


def return_messages(broker: redis.Redis) -> int:
    """Give the unacknowledged messages of workers that are long gone back to their queues; returns how many there were.

    Names that this database does not know are left alone: they may be another installation's on the same broker.
    """
    keys = broker.scan_iter(match=f"{restore.INDEX}*", count=1000)
    names = [key.decode().removeprefix(restore.INDEX) for key in keys]
    return sum(_return(name) for name in _long_gone(names).values_list("name", flat=True)) if names else 0


def _return(name: str) -> int:
    with transaction.atomic():
        lease.hold_name(name)  # nobody begins to consume under this name while its messages are moved
        if not _long_gone([name]).exists():
            return 0
        with current_app.connection_for_write(transport_options=dict(restore.own_keys(name))) as connection:
            count = restore.give_back(connection.channel())
    log.warning("janitor.returned_messages", worker=name, count=count)
    return count


def _long_gone(names: list[str]) -> QuerySet[Worker]:
    return Worker.objects.filter(name__in=names, lease_until__lt=DatabaseNow() - LONG_GONE)
