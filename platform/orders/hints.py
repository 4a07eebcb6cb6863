"""Tell open pages that an order has moved on. A hint carries an id and a version; the page reads the rest itself."""

import asyncio
import threading
import time
from collections.abc import Iterable
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
        self.told: dict[UUID, tuple[tuple[str, ...], int]] = {}
        self.silent_until = 0.0


_pending = _Pending()


def changed(order: Order) -> None:
    """After the commit, hint at this order's pages and at the worklists that list it, once. Never breaks the caller."""
    parties = sorted({order.ordering_organisation_id, order.performing_laboratory_id})
    tell(order.pk, [f"order.{order.pk}", *(f"worklist.{party}" for party in parties)], order.version)


def tell(pk: UUID, groups: Iterable[str], version: int) -> None:
    """After the commit, hint at these groups that something has this version now, once. Never breaks the caller."""
    _pending.told[pk] = (tuple(groups), version)
    transaction.on_commit(_flush, robust=True)


def _flush() -> None:
    told, _pending.told = _pending.told, {}
    if not told or time.monotonic() < _pending.silent_until:
        return
    try:
        async_to_sync(_publish)(told)
    except (RedisError, OSError) as error:  # a time-out is an OSError
        _pending.silent_until = time.monotonic() + SILENCE_SECONDS
        log.warning("hint.failed", orders=len(told), error=type(error).__name__)


async def _publish(told: dict[UUID, tuple[tuple[str, ...], int]]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    async with asyncio.timeout(PATIENCE_SECONDS):
        for pk, (groups, version) in told.items():
            message = {"type": "hint", "order": str(pk), "version": version}
            for group in groups:
                await layer.group_send(group, message)
