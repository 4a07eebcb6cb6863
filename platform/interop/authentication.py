"""Who asks? A token in the header, and nothing else: no cookie, no address, no body. Every interface below asks here."""

from dataclasses import replace

from django.core.cache import cache
from django.http import HttpRequest

from accounts import tokens
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.problems import ApiError

TRIES, WITHIN = 30, 60  # refused tokens from one address within so many seconds, in one process
KNOWN_FOR = 3600  # seconds that a token which opened from an address is asked for in spite of its neighbours' tries
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="Helicase"'}


def actor_of(request: HttpRequest) -> Actor:
    """The actor behind the token of a request. Raises `ApiError` (401, or 429 after too many tries from one address).

    Where many programs share an address, the tries of one do not lock out a token that has opened from there within the hour.
    """
    text, address = bearer(request.headers.get("Authorization", "")), request.META.get("REMOTE_ADDR", "")
    tried, known = f"interop.tries.{address}", f"interop.known.{address}.{tokens.shape(text)}"
    if cache.get(tried, 0) >= TRIES and not cache.get(known):
        raise ApiError(429, Reason.API_TOO_MANY_TRIES, headers={"Retry-After": str(WITHIN)})
    actor = tokens.authenticate(text)
    if actor is None:
        cache.set(tried, cache.get(tried, 0) + 1, WITHIN)
        raise ApiError(401, Reason.API_UNAUTHENTICATED, headers=CHALLENGE)
    cache.set(known, True, KNOWN_FOR)
    return replace(actor, origin=f"API, {address or 'no address'}")


def bearer(header: str) -> str:
    """The token of an Authorization header; blank where it holds none."""
    scheme, _, text = header.partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""
