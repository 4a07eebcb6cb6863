"""One signed POST, as the Standard Webhooks specification has it: id, timestamp, and an HMAC-SHA256 over both and the body.

No redirect is followed, nothing of the answer but its status is read, and the whole takes ten seconds at most.
"""

import base64
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import SplitResult

from django.conf import settings

from foundation import clock
from notices import addresses, links, sealing
from notices.errors import DeliveryFailed, InvalidEndpoint, Undeliverable
from notices.models import Delivery, Endpoint

SECONDS = 10.0
PREFIX = "whsec_"
FORMAT = 1


def shown(secret: bytes) -> str:
    """A secret as the one who keeps the receiver reads it, once."""
    return PREFIX + base64.b64encode(secret).decode()


def signature(key: bytes, *, id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`."""
    digest = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def send(delivery: Delivery) -> None:
    """Post a delivery to its endpoint. Raises `DeliveryFailed` or `Undeliverable` in words."""
    endpoint = delivery.endpoint
    if endpoint is None or endpoint.ended_at is not None:
        raise Undeliverable("The webhook has been removed.")
    private: bool = settings.WEBHOOK_PRIVATE
    try:
        parts = addresses.parsed(endpoint.url, private=private)
    except InvalidEndpoint as error:
        raise Undeliverable(str(error)) from error
    body = json.dumps(content(delivery), separators=(",", ":")).encode()
    timestamp = int(clock.now().timestamp())
    signed = [signature(key, id=str(delivery.pk), timestamp=timestamp, body=body) for key in _keys(endpoint)]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Helicase",
        "Webhook-Id": str(delivery.pk),
        "Webhook-Timestamp": str(timestamp),
        "Webhook-Signature": " ".join(signed),
    }
    status = _post(parts, body, headers, private=private)
    if not 200 <= status < 300:
        moved = ": redirects are not followed" if 300 <= status < 400 else ""
        raise DeliveryFailed(f"The receiver answered {status}{moved}.")


def content(delivery: Delivery) -> dict[str, object]:
    """What is sent: ids and codes."""
    notice = delivery.notice
    said: dict[str, object] = {"format": FORMAT, "type": notice.kind, "timestamp": notice.at.isoformat(), "id": str(notice.pk)}
    facts = {key: value for key, value in notice.facts.items() if key in ("clock", "level", "from", "to", "due")}
    order = {"id": str(notice.order_id), "accession": notice.accession, "link": links.of(notice)} if notice.order_id else None
    return {**said, "data": {"order": order, **facts}}


def _keys(endpoint: Endpoint) -> list[bytes]:
    """What signs: the secret, and while a receiver is given it, the one before. Raises `Undeliverable` in words."""
    overlaps = endpoint.before_until is not None and endpoint.before_until > clock.now()
    try:
        return [sealing.unseal(text) for text in (endpoint.sealed, endpoint.sealed_before if overlaps else "") if text]
    except sealing.Unreadable as error:
        words = "The secret of this webhook was sealed with another SECRET_KEY."
        raise Undeliverable(f"{words} Name that one in SECRET_KEY_FALLBACKS, or make a new secret.") from error


def _post(parts: SplitResult, body: bytes, headers: dict[str, str], *, private: bool) -> int:
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = _Pinned(host, port, addresses.resolve(host, port, private=private), tls=parts.scheme == "https")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    deadline = threading.Timer(SECONDS, connection.abort)  # a time-out of the socket starts anew with every byte
    deadline.daemon = True
    deadline.start()
    try:
        connection.request("POST", path, body=body, headers=headers)
        return connection.getresponse().status
    except ssl.SSLError as error:
        raise DeliveryFailed(f"The receiver's certificate or TLS was refused: {error.reason or 'no secure connection'}.") from error
    except (OSError, http.client.HTTPException, AttributeError) as error:  # the last: cut off by the deadline
        said = f"No answer within {SECONDS:.0f} seconds." if connection.aborted or isinstance(error, TimeoutError) else ""
        raise DeliveryFailed(said or f"The receiver could not be reached ({type(error).__name__}).") from error
    finally:
        deadline.cancel()
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """A connection to one address that was looked up before, with TLS for the name."""

    def __init__(self, host: str, port: int, address: str, *, tls: bool) -> None:
        super().__init__(host, port, timeout=SECONDS)
        self.address, self.tls, self.aborted = address, tls, False

    def connect(self) -> None:
        """To the pinned address, whatever the name says now."""
        self.sock = socket.create_connection((self.address, self.port), self.timeout)
        if self.tls:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

    def abort(self) -> None:
        """Cut it off from another thread."""
        self.aborted = True
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)
