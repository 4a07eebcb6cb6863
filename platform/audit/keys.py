"""The key that signs anchors (Ed25519), which no database holds, and the public keys by which they are checked.

The private key is made from AUDIT_KEY, which the sealer alone needs to know; without one it is made from SECRET_KEY.
"""

from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings


def name_of(key: Ed25519PublicKey) -> str:
    """Sixteen digits that stand for a public key in an anchor."""
    return sha256(key.public_bytes_raw()).hexdigest()[:16]


def signing() -> Ed25519PrivateKey:
    """The key that the sealer signs with."""
    return _private(settings.AUDIT_KEY or settings.SECRET_KEY)


def known() -> dict[str, Ed25519PublicKey]:
    """The keys that anchors may be signed with, by name: those that the environment names, else the present one and former ones."""
    secrets = [settings.AUDIT_KEY] if settings.AUDIT_KEY else []
    keys = [_private(secret).public_key() for secret in (*secrets, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    if settings.AUDIT_PUBLIC_KEYS:
        keys = [Ed25519PublicKey.from_public_bytes(bytes.fromhex(one)) for one in settings.AUDIT_PUBLIC_KEYS]
    return {name_of(key): key for key in keys}


def signed(key: Ed25519PublicKey, signature: str, said: bytes) -> bool:
    """Whether this key signed these bytes; the signature in hexadecimal digits."""
    try:
        key.verify(bytes.fromhex(signature), said)
    except (InvalidSignature, ValueError):
        return False
    return True


def _private(secret: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(sha256(b"helicase audit anchors " + secret.encode()).digest())
