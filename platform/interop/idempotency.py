"""The same request sent again is not done again: it is answered with what the first one was answered with.

Whether a key is new is decided by inserting it, in the transaction of the deed: of two requests at the same moment the second waits
for the first one's commit. A refusal changes nothing and is not kept: the same request may be tried again when what it lacked is
there.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import transaction

from foundation import clock
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.models import KeptAnswer
from interop.problems import ApiError

KEPT_FOR = timedelta(hours=48)


@dataclass(frozen=True)
class Done:
    """A deed's answer, and what it speaks of."""

    status: int
    body: str  # JSON
    organisation_id: UUID
    object_id: UUID
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False  # it was given before


def once(*, actor: Actor, key: str, digest: str, work: Callable[[], Done], seen: Callable[[UUID], object]) -> Done:
    """Do the work in one transaction and keep its answer, or give the answer of the first time. Returns after the commit.

    `seen` raises `NotFound` for an object that the actor may not see (any more). Raises `ApiError` for a key that was sent with
    another request, and whatever the work raises.
    """
    if not key:
        with transaction.atomic():
            return work()
    with transaction.atomic():
        mine = KeptAnswer(owner_id=cast(UUID, actor.id), key=key, digest=digest, created_at=clock.now())
        KeptAnswer.objects.bulk_create([mine], ignore_conflicts=True)
        kept = KeptAnswer.objects.get(owner_id=actor.id, key=key)
        if kept.pk != mine.pk:
            return _again(kept, digest, seen)
        done = work()
        kept.status, kept.body, kept.headers = done.status, done.body, dict(done.headers)
        kept.organisation_id, kept.object_id = done.organisation_id, done.object_id
        kept.save()
    return done


def request_digest(*parts: str) -> str:
    """SHA-256 of everything that makes a request this one and no other."""
    whole = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        whole.update(len(raw).to_bytes(8, "big") + raw)
    return whole.hexdigest()


def sweep() -> int:
    """Forget answers that nobody asks for any more; how many those were."""
    gone, _ = KeptAnswer.objects.filter(created_at__lt=clock.now() - KEPT_FOR).delete()
    return gone


def _again(kept: KeptAnswer, digest: str, seen: Callable[[UUID], object]) -> Done:
    if kept.digest != digest:
        raise ApiError(422, Reason.API_KEY_REUSED)
    object_id = cast(UUID, kept.object_id)
    seen(object_id)
    return Done(kept.status, kept.body, kept.organisation_id, object_id, kept.headers, again=True)
