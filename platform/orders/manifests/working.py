"""Move a manifest on for a while: the platform job behind its page, and the command."""

import time
from contextlib import closing
from uuid import UUID

import structlog

from foundation.errors import Stale
from orders.manifests import checking, claims, placing
from orders.models import Manifest

log = structlog.get_logger(__name__)

SLICE = 5.0  # seconds until others get their turn


def work(pk: UUID, *, seconds: float = SLICE) -> bool:
    """Check or place rows until there are none left or the time is up; whether there is more to do at once.

    Does nothing when somebody else does it (a message came twice) or a person has stopped it.
    """
    manifest = claims.take(pk)
    if manifest is None:
        return False
    try:
        waits = _worked(manifest, time.monotonic() + seconds)
        more = Manifest.objects.filter(pk=pk, state__in=Manifest.WORKING).exists()
        claims.release(manifest, more=more and not waits)  # who waits for files is asked again by `claims.recover`
    except (claims.Superseded, Stale):
        log.warning("manifest.superseded", manifest=str(pk))
        return False
    return more and not waits


def _worked(manifest: Manifest, until: float) -> bool:
    """Some rows after the others; whether those that are left wait for files that others check."""
    if manifest.state == "placing":
        line = placing.Line(manifest)
        while placing.place_next(line) and time.monotonic() < until:
            pass
        return False
    opened = checking.begin(manifest)
    if opened is None:
        return False
    with closing(opened):
        while checking.check_next(opened) and time.monotonic() < until:
            pass
        return opened.waits
