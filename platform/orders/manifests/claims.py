"""Who moves a manifest on: one worker at a time, under a claim that every write checks; a dead one is found and replaced."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from foundation import clock
from foundation.errors import HelicaseError
from foundation.reasons import Reason
from orders.models import Manifest
from outbox import services as outbox
from registry.priority import PRIORITY_RANK, Priority

TOPIC = "manifest.work"
# Nothing moved for so long: the worker is gone. A row is placed in a blink, one large file is checked for a minute at a time.
STALLED = {"placing": timedelta(minutes=1), "checking": timedelta(minutes=3)}
FORGOTTEN = timedelta(seconds=15)  # waiting without being taken up
MANY = 100  # rows: more of them keep a worker busy for longer than somebody waits for a file


class Superseded(HelicaseError):
    """Another worker has taken this manifest up, or a person has stopped it: nothing more is written."""


def take(pk: UUID) -> Manifest | None:
    """Claim a manifest that is being checked or placed; None where there is nothing to do or somebody else does it."""
    now = clock.now()
    free = Q(claim=None) | _stalled()
    claimed = Manifest.objects.filter(free, pk=pk, state__in=Manifest.WORKING).update(
        claim=uuid4(), claimed_at=now, tries=F("tries") + 1
    )
    if not claimed:
        return None
    return Manifest.objects.select_related("file", "ordering_organisation", "created_by", "placed_by").get(pk=pk)


@contextmanager
def ours(manifest: Manifest, *, settles: bool = False) -> Iterator[Manifest]:
    """A transaction in which the claim holds; `settles`: a row is settled in it, so this attempt has come further.

    Raises `Superseded`.
    """
    with transaction.atomic():
        mine = Manifest.objects.filter(pk=manifest.pk, claim=manifest.claim, state=manifest.state)
        if not mine.update(claimed_at=clock.now(), **({"tries": 0} if settles else {})):
            raise Superseded(code=str(Reason.INTAKE_WORKER_LOST))
        yield manifest


def release(manifest: Manifest, *, more: bool) -> None:
    """Give the claim back; with more to do, somebody is asked for it."""
    with transaction.atomic():
        hit = Manifest.objects.filter(pk=manifest.pk, claim=manifest.claim).update(claim=None, claimed_at=clock.now(), tries=0)
        if hit and more:
            ask(manifest)


def ask(manifest: Manifest) -> None:
    """Post the message that has a platform worker move this manifest on, inside the caller's transaction."""
    payload = {"manifest": str(manifest.pk), "large": _large(manifest)}
    outbox.post(topic=TOPIC, payload=payload, organisation_id=manifest.ordering_organisation_id)


def _large(manifest: Manifest) -> bool:
    """Whether the workers for large files move it on: the check of a small upload is never behind the many rows of somebody else.

    Its own STAT rows, which come first, do not wait behind large files either.
    """
    left = manifest.rows.filter(state="valid" if manifest.state == "placing" else "pending")
    if left.filter(rank=PRIORITY_RANK[Priority.STAT]).exists():
        return False
    return (manifest.state == "checking" and manifest.file.size > settings.INTAKE_LARGE) or left.count() > MANY


def _stalled() -> Q:
    now = clock.now()
    stalled = Q(pk__in=[])
    for state, patience in STALLED.items():
        stalled |= Q(state=state, claimed_at__lt=now - patience)
    return stalled


def recover() -> int:
    """Ask again for manifests whose worker has died or whose message was lost; returns how many."""
    now = clock.now()
    waiting = Q(claim=None) & (Q(claimed_at__lt=now - FORGOTTEN) | Q(claimed_at=None, created_at__lt=now - FORGOTTEN))
    lost = Manifest.objects.filter(waiting | (Q(claim__isnull=False) & _stalled()), state__in=Manifest.WORKING)
    found = list(lost.order_by("created_at"))
    for manifest in found:
        with transaction.atomic():
            as_seen = Manifest.objects.filter(pk=manifest.pk, claim=manifest.claim, claimed_at=manifest.claimed_at)
            if as_seen.update(claim=None, claimed_at=now):
                ask(manifest)
    return len(found)
