"""Live pages. A socket carries hints only: an order's id and version. The page re-reads over HTTP."""

import asyncio
import json
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer

from dashboard.following import groups_for_async
from dashboard.sessions import group_of

REFUSED = 4403  # close code: this session may not listen (any more)
NOWHERE = 4404  # close code: no socket has this address
RECHECK = 45.0  # seconds between looks at the session when nothing is said
QUIET = 0.25  # seconds in which the hints of one socket are gathered


class Hints(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels carries no types
    """Follows one order, one question, or the worklists of the session's organisations."""

    async def connect(self) -> None:
        """Join the groups this session may follow; a stranger is refused before the handshake ends."""
        self.key = self.scope["session"].session_key
        self.followed: dict[str, UUID] = self.scope["url_route"]["kwargs"]  # an order, a question, or nothing in particular
        self.pending: dict[str, int] = {}
        self.flusher: asyncio.Task[None] | None = None
        self.watcher: asyncio.Task[None] | None = None
        self.joined = await groups_for_async(self.key, **self.followed)
        if not self.joined:
            await self.close(REFUSED)
            return
        for group in (*self.joined, group_of(self.key)):
            await self.channel_layer.group_add(group, self.channel_name)
        await self.accept()
        self.watcher = asyncio.create_task(self._watch())

    async def disconnect(self, code: int) -> None:
        """Leave quietly."""
        for task in (self.flusher, self.watcher):
            if task is not None:
                task.cancel()
        for group in (*self.joined, group_of(self.key)) if self.joined else ():
            await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Browsers cannot see protocol pings, so pages ask in words whether anybody is there. Anything else is ignored."""
        if text_data == "ping":
            await self.send("pong")

    async def hint(self, message: dict[str, Any]) -> None:
        """An order, or a question, has moved on. Hints that come close together go out as one, the newest version of each order."""
        order, version = str(message["order"]), int(message["version"])
        self.pending[order] = max(version, self.pending.get(order, 0))
        if self.flusher is None or self.flusher.done():
            self.flusher = asyncio.create_task(self._flush())

    async def bell(self, message: dict[str, Any]) -> None:
        """There is something new for this person to read."""
        await self.send(json.dumps({"bell": True}))

    async def session_ended(self, message: dict[str, Any]) -> None:
        """The person logged out: this socket ends with the session."""
        await self.close(REFUSED)

    async def _flush(self) -> None:
        while self.pending and await self._still_allowed():
            gathered, self.pending = self.pending, {}
            for order, version in gathered.items():
                await self.send(json.dumps({"order": order, "version": version}))
            await asyncio.sleep(QUIET)

    async def _watch(self) -> None:
        while await self._still_allowed():
            await asyncio.sleep(RECHECK)

    async def _still_allowed(self) -> bool:
        if self.joined <= await groups_for_async(self.key, **self.followed):
            return True
        await self.close(REFUSED)
        return False


async def nowhere(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Any other address: closed before the handshake ends, as for a stranger."""
    await receive()
    await send({"type": "websocket.close", "code": NOWHERE})
