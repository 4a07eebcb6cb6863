"""Prove anew who you are, for one deed on one object with one content. It is good for two minutes and used once.

A method is a function from a user and what he gave to yes or no; another one (a code, a passkey, a fresh login elsewhere) is one
more entry of `METHODS`. Whoever asks for it uses it: `spend` in Python, or a trigger where the row is a signature.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from django.db.models.functions import Now

from accounts.models import StepUp, User
from audit import services as audit
from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused

GOOD_FOR = timedelta(minutes=2)
TRIES, WITHIN = 5, timedelta(minutes=15)
REFUSED = "step_up.refused"


class NotProven(Refused):
    """That is not your password. Nothing was done."""


class TooManyTries(Refused):
    """Your password was wrong five times in a quarter of an hour. Wait, and try again; the laboratory's auditors can see it."""


@dataclass(frozen=True)
class About:
    """What the proof is for: the row, and SHA-256 of what it says."""

    row: Model
    sha256: str
    organisation_id: UUID


def _password(user: User, given: str) -> bool:
    return user.check_password(given)


METHODS: Mapping[str, Callable[[User, str], bool]] = {"password": _password}


def prove(*, actor: Actor, about: About, given: str, method: str = "password") -> StepUp:
    """Keep that this person proved who he is. Raises `NotProven` and `TooManyTries`; a wrong answer leaves an event.

    Called outside of a transaction, so that what it tells stays whatever becomes of the deed.
    """
    with transaction.atomic():
        people = User.objects.select_for_update(no_key=True).filter(is_active=True, responsible=None)
        user = people.filter(pk=actor.id).first() if actor.id else None
        if user is None or actor.token:
            raise NotProven("Programs prove nothing: a person does this on a page.", code="step-up.no-person")
        proven = _answered(user, actor, about, given, method)
    if not proven:
        raise NotProven(code="step-up.refused")
    return StepUp.objects.create(
        organisation_id=about.organisation_id, user=user, object_type=about.row._meta.label_lower, object_id=str(about.row.pk),
        content_sha256=about.sha256, method=method,
    )  # fmt: skip


def _answered(user: User, actor: Actor, about: About, given: str, method: str) -> bool:
    """Whether it is he, asked one at a time, so that nobody guesses twice at once. Raises `TooManyTries`."""
    horizon = clock.now() - WITHIN
    failed = Event.objects.filter(object_type="accounts.user", object_id=str(user.pk), action=REFUSED, at__gt=horizon).count()
    if failed >= TRIES:
        raise TooManyTries(code="step-up.too-many")
    if METHODS[method](user, given):
        return True
    audit.record(actor=actor, action=REFUSED, obj=user, organisation_id=about.organisation_id, facts={"method": method})
    return False


def spend(step_up: StepUp, *, actor: Actor, about: About) -> None:
    """Use it, for exactly this. Raises `NotProven` where it is another's, of something else, too old, or used."""
    same = {"user_id": actor.id, "object_type": about.row._meta.label_lower, "object_id": str(about.row.pk)}
    good = StepUp.objects.filter(pk=step_up.pk, content_sha256=about.sha256, used_at=None, at__gt=Now() - GOOD_FOR, **same)
    if good.update(used_at=Now()) != 1:
        raise NotProven("What you proved was for something else, is older than two minutes, or was used.", code="step-up.spent")
