"""Tell open pages that an order has moved on. A hint carries an id and a version; the page reads the rest itself."""

import asyncio
import threading
import time
from uuid import UUID

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

from orders.models import Order

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 1.0  # for a broker that neither answers nor refuses
SILENCE_SECONDS = 10.0  # without hints after it did not answer: pages poll meanwhile


class _Pending(threading.local):
    def __init__(self) -> None:
        self.orders: dict[UUID, tuple[tuple[UUID, ...], int]] = {}
        self.silent_until = 0.0


_pending = _Pending()


def changed(order: Order) -> None:
    """After the commit, hint at this order's pages and at the worklists that list it, once. Never breaks the caller."""
    parties = {order.ordering_organisation_id, order.performing_laboratory_id}
    _pending.orders[order.pk] = (tuple(sorted(parties)), order.version)
    transaction.on_commit(_flush, robust=True)


def _flush() -> None:
    orders, _pending.orders = _pending.orders, {}
    if not orders or time.monotonic() < _pending.silent_until:
        return
    try:
        async_to_sync(_publish)(orders)
    except (RedisError, OSError) as error:  # a time-out is an OSError
        _pending.silent_until = time.monotonic() + SILENCE_SECONDS
        log.warning("hint.failed", orders=len(orders), error=type(error).__name__)


async def _publish(orders: dict[UUID, tuple[tuple[UUID, ...], int]]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    async with asyncio.timeout(PATIENCE_SECONDS):
        for order, (parties, version) in orders.items():
            message = {"type": "hint", "order": str(order), "version": version}
            for group in (f"order.{order}", *(f"worklist.{party}" for party in parties)):
                await layer.group_send(group, message)
