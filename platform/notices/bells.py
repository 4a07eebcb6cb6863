"""Tell a person's open pages that there is something new for him. A hint carries no content; a lost one costs half a minute."""

import asyncio
from collections.abc import Iterable
from uuid import UUID

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)
PATIENCE_SECONDS = 1.0


def group_of(user: UUID) -> str:
    """The channel group of a person's pages."""
    return f"person.{user}"


def ring(people: Iterable[UUID]) -> None:
    """After the commit, hint at these people's pages. Never breaks the caller."""
    groups = sorted({group_of(user) for user in people})
    if groups:
        transaction.on_commit(lambda: _publish(groups), robust=True)


def _publish(groups: list[str]) -> None:
    try:
        async_to_sync(_send)(groups)
    except (RedisError, OSError) as error:  # a time-out is an OSError
        log.warning("bell.failed", people=len(groups), error=type(error).__name__)


async def _send(groups: list[str]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    async with asyncio.timeout(PATIENCE_SECONDS):
        for group in groups:
            await layer.group_send(group, {"type": "bell"})
