"""Webhooks of an organisation: made, given another secret, tried and removed by its administrator."""

import secrets
from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import Organisation
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from notices import addresses, sealing, services, webhook
from notices.errors import InvalidEndpoint
from notices.models import Endpoint

OVERLAP = timedelta(days=1)  # in which a receiver is given the new secret


def add(*, organisation: Organisation, name: str, url: str, actor: Actor) -> tuple[Endpoint, str]:
    """A new webhook and its secret, which nobody is told again. Raises `NotPermitted` or `InvalidEndpoint`."""
    require(actor, Verb.GRANT, organisation.pk)
    name = " ".join(name.split())
    if not name or len(name) > 80 or not name.isprintable():
        raise InvalidEndpoint("A webhook needs a name of at most 80 letters.", code="webhook.name")
    addresses.parsed(url, private=settings.WEBHOOK_PRIVATE)
    try:
        with transaction.atomic():
            secret, now = secrets.token_bytes(32), clock.now()
            made = Endpoint.objects.create(
                organisation=organisation, name=name, url=url, sealed=sealing.seal(secret), created_at=now
            )
            _note(made, "webhook.added", actor)
    except IntegrityError:
        raise InvalidEndpoint(f"There is a webhook called {name} already.", code="webhook.name") from None
    return made, webhook.shown(secret)


def renew(*, endpoint: Endpoint, actor: Actor) -> str:
    """Another secret, from now on; for `OVERLAP` the former one signs beside it. Raises `NotPermitted` or `InvalidEndpoint`."""
    secret = secrets.token_bytes(32)
    with transaction.atomic():
        locked = _open(endpoint, actor)
        locked.sealed_before, locked.before_until = locked.sealed, clock.now() + OVERLAP
        locked.sealed = sealing.seal(secret)
        locked.save(update_fields=["sealed", "sealed_before", "before_until"])
        _note(locked, "webhook.secret_renewed", actor)
    return webhook.shown(secret)


def remove(*, endpoint: Endpoint, actor: Actor) -> None:
    """End a webhook; what was sent to it stays listed. Raises `NotPermitted` or `InvalidEndpoint`."""
    with transaction.atomic():
        locked = _open(endpoint, actor)
        locked.ended_at = clock.now()
        locked.save(update_fields=["ended_at"])
        _note(locked, "webhook.removed", actor)


def try_out(*, endpoint: Endpoint, actor: Actor) -> None:
    """Queue a test message. Raises `NotPermitted` or `InvalidEndpoint`."""
    with transaction.atomic():
        locked = _open(endpoint, actor)
        told = services.Told(
            key=f"webhook.test:{uuid4()}", kind="webhook.test", organisation_id=locked.organisation_id,
            parties=[locked.organisation_id],
        )  # fmt: skip
        services.tell(told, services.Audience(webhook=[locked.pk]))
        _note(locked, "webhook.tried", actor)


def _open(endpoint: Endpoint, actor: Actor) -> Endpoint:
    require(actor, Verb.GRANT, endpoint.organisation_id)
    locked = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    if locked.ended_at is not None:
        raise InvalidEndpoint("This webhook has been removed.", code="webhook.removed")
    return locked


def _note(endpoint: Endpoint, action: str, actor: Actor) -> None:
    audit.record(actor=actor, action=action, obj=endpoint, organisation_id=endpoint.organisation_id)
