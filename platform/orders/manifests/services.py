"""What people do with a manifest: send it, have its rows placed, stop the rest, throw it away."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.models import Organisation, User
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from foundation.reasons import Reason
from orders.machines import MANIFEST
from orders.manifests import claims
from orders.models import Manifest, ManifestRow
from storage import services as storage


class NotAllValid(Refused):
    """Some rows are not valid. Place the valid ones only, or send a corrected manifest."""


def send(*, actor: Actor, organisation_id: UUID, chunks: Iterable[bytes], filename: str) -> Manifest:
    """Store a manifest and ask for its check. Raises `NotPermitted`, or `TooLarge` (nothing is kept then)."""
    require(actor, Verb.PLACE, organisation_id)
    name = filename.replace("\\", "/").rsplit("/", 1)[-1][:255] or "manifest.csv"
    written = storage.write(chunks=chunks, limit=settings.UPLOAD_LIMIT)
    with transaction.atomic():
        stored = storage.record(written=written, organisation_id=organisation_id, kind="manifest", name=name)
        manifest = Manifest.objects.create(
            ordering_organisation_id=organisation_id,
            file=stored,
            filename=name,
            zone=Organisation.objects.get(pk=organisation_id).zone.key,
            created_by=_person(actor),
            created_at=clock.now(),
        )
        audit.record(
            actor=actor,
            action="manifest.received",
            obj=manifest,
            organisation_id=organisation_id,
            facts={"file": stored.sha256, "bytes": stored.size},
        )
        claims.ask(manifest)
    return manifest


def place(*, actor: Actor, manifest: Manifest, valid_only: bool, expected_version: int) -> None:
    """Have the valid rows placed, STAT first. Raises `NotAllValid`, `Refused`, `NotPermitted` or `Stale`.

    Asking again while rows are being placed, or when all are, changes nothing.
    """
    require(actor, Verb.PLACE, manifest.ordering_organisation_id)
    with transaction.atomic():
        locked = Manifest.objects.select_for_update().get(pk=manifest.pk)
        if locked.state in ("placing", "placed"):  # a second click
            return
        if locked.version != expected_version:
            raise Stale(code="state.stale")
        rows = ManifestRow.objects.filter(manifest=locked)
        if not valid_only and not locked.valid_only and rows.filter(state="invalid").exists():
            raise NotAllValid(code="manifest.not-all-valid")
        if not rows.filter(state="valid").exists():
            raise Refused("No row is waiting to be placed.", code="manifest.nothing-to-place")
        changes: dict[str, Any] = {
            "placed_by_id": actor.id,
            "valid_only": valid_only or locked.valid_only,
            "claim": None,
            "claimed_at": clock.now(),
        }
        audit.transition(MANIFEST, locked, to="placing", actor=actor, **changes)
        claims.ask(locked)


def stop(*, actor: Actor, manifest: Manifest) -> None:
    """Place no more rows, or throw away a manifest of which none was placed. Orders that exist stay; each has its own cancel."""
    require(actor, Verb.PLACE, manifest.ordering_organisation_id)
    with transaction.atomic():
        locked = Manifest.objects.select_for_update().get(pk=manifest.pk)
        to = "stopped" if locked.state == "placing" else "withdrawn"
        if locked.state in ("stopped", "withdrawn"):
            return
        ended: dict[str, Any] = {} if to == "stopped" else {"ended_at": clock.now()}
        audit.transition(MANIFEST, locked, to=to, actor=actor, reason=str(Reason.MANIFEST_STOPPED), claim=None, **ended)


def _person(actor: Actor) -> User:
    """Whoever sends a manifest has a name: its rows are placed later, in that name."""
    if actor.id is None:
        raise NotPermitted("A manifest is sent by a person.", code="access.not-permitted")
    return User.objects.get(pk=actor.id)
