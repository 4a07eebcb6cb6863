"""Sessions and the sockets that hang on them."""

import hashlib

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError


def group_of(session_key: str) -> str:
    """The channel group of a session's sockets; the key itself is a secret and stays out of the broker."""
    return f"session.{hashlib.sha256(session_key.encode()).hexdigest()[:32]}"


def ended(session_key: str | None) -> None:
    """Close the sockets of a session that has just been logged out. Without a broker they notice within a minute."""
    layer = get_channel_layer()
    if session_key is None or layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group_of(session_key), {"type": "session_ended"})
    except (RedisError, OSError):
        return
