"""Secrets of webhooks as they are kept: sealed with the key of this installation, opened with a former one while that is named."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Unreadable(ValueError):
    """Sealed with a key that this installation does not have any more."""


def seal(secret: bytes) -> str:
    """The secret as the database keeps it."""
    return _locks().encrypt(secret).decode()


def unseal(text: str) -> bytes:
    """The secret again. Raises `Unreadable`."""
    try:
        return _locks().decrypt(text.encode())
    except InvalidToken as error:
        raise Unreadable from error


def _locks() -> MultiFernet:
    return MultiFernet([_lock(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _lock(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"webhook secrets " + key.encode()).digest()))
