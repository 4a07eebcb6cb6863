"""Tell open pages that an order has moved on. A hint carries an id and a version; the page reads the rest itself."""

from uuid import UUID

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

from orders.models import Order

log = structlog.get_logger(__name__)


def changed(order: Order) -> None:
    """After the commit, hint at this order's pages and at the worklists that list it. Never breaks the caller."""
    parties = {order.ordering_organisation_id, order.performing_laboratory_id}
    groups = [f"order.{order.pk}", *(f"worklist.{organisation}" for organisation in sorted(parties))]
    transaction.on_commit(lambda: _send(groups, order.pk, order.version), robust=True)


def _send(groups: list[str], order: UUID, version: int) -> None:
    try:
        async_to_sync(_publish)(groups, {"type": "hint", "order": str(order), "version": version})
    except (RedisError, OSError) as error:  # pages poll when hints fail to come
        log.warning("hint.failed", order=str(order), error=type(error).__name__)


async def _publish(groups: list[str], message: dict[str, object]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        for group in groups:
            await layer.group_send(group, message)
