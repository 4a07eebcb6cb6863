"""API tokens: made, shown once, believed, revoked. What a token may do is read from its owner's memberships at every use."""

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Iterable
from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import ApiToken, Organisation, User
from accounts.roles import FOR_PROGRAMS, Verb
from accounts.services import actor_for
from audit import services as audit
from foundation import clock
from foundation.actor import NOBODY, Actor
from foundation.errors import NotFound, NotPermitted, Refused
from foundation.reasons import Reason

DAYS, MOST_DAYS = 90, 365  # of life: unless asked for otherwise, and at most
MOST_OPEN = 50  # tokens of one owner
COARSE = timedelta(minutes=15)  # how exactly the last use is kept
_FORM = re.compile(r"hct_([a-z0-9]{10})_([A-Za-z0-9_-]{43})")


class InvalidToken(Refused):
    """What is asked of a token has to be corrected, field by field."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        super().__init__(code="token.invalid")
        self.fields = fields


def create(
    *, actor: Actor, owner: User, name: str, scopes: Iterable[str], organisation: Organisation | None = None, days: int = DAYS
) -> tuple[ApiToken, str]:
    """Make a token; its text is returned this once. Raises `NotPermitted`, or `InvalidToken` with what is wrong, by field."""
    _require_keeper(actor, owner)
    wanted, name = sorted(set(scopes)), " ".join(name.split())
    _validate(owner, name, wanted, organisation, days)
    prefix = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(10))
    text, now = f"hct_{prefix}_{secrets.token_urlsafe(32)}", clock.now()
    with transaction.atomic():
        token = ApiToken.objects.create(
            owner=owner,
            name=name,
            prefix=prefix,
            sha256=_digest(text),
            scopes=wanted,
            organisation=organisation,
            created_by_id=cast(UUID, actor.id),  # a process keeps no tokens
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        _record(actor, "token.created", token, {"scopes": wanted, "days": days})
    return token, text


def revoke(*, actor: Actor, token: ApiToken) -> None:
    """End a token, at once; ending it twice is no error. Raises `NotPermitted`."""
    _require_keeper(actor, token.owner)
    with transaction.atomic():
        locked = ApiToken.objects.select_for_update(of=("self",)).select_related("owner").get(pk=token.pk)
        if locked.revoked_at is None:
            locked.revoked_at, locked.revoked_by_id = clock.now(), actor.id
            locked.save(update_fields=["revoked_at", "revoked_by"])
            _record(actor, "token.revoked", locked, {})


def authenticate(text: str) -> Actor | None:
    """Who acts by this token, and what he may do: what its owner may now, within its scopes and its organisation. None: nobody.

    Raises `NotPermitted` for a service account that nobody answers for any more. Only text of the right form is looked up, by the
    part that may be seen; the whole is compared in constant time.
    """
    token = _open(text)
    if token is None:
        return None
    now = clock.now()
    if token.last_used_at is None or now - token.last_used_at > COARSE:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    whole = actor_for(token.owner)
    if token.owner.responsible_id is not None and not whole.grants:
        raise NotPermitted(Reason.API_NOBODY_ANSWERS.words, code=str(Reason.API_NOBODY_ANSWERS))
    grants = {verb: _within(whole.organisations(verb), token.organisation_id) for verb in token.scopes}
    return Actor(id=token.owner_id, name=token.owner.name, grants=grants, token=str(token.pk))


def owner_of(text: str) -> UUID | None:
    """Whose open token this is; its use is not noted."""
    token = _open(text)
    return token.owner_id if token else None


def shape(text: str) -> str:
    """The part of a token that may be seen; blank for what is no token."""
    form = _FORM.fullmatch(text)
    return form.group(1) if form else ""


def kept_by(actor: Actor) -> QuerySet[ApiToken]:
    """The tokens this person answers for: his own and those of his service accounts, the newest first."""
    mine = ApiToken.objects.filter(Q(owner_id=actor.id) | Q(owner__responsible_id=actor.id))
    return mine.select_related("owner", "organisation").order_by("-created_at")


def token_for(actor: Actor, pk: UUID) -> ApiToken:
    """One of them. Raises `NotFound`."""
    found = kept_by(actor).filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def accounts_of(actor: Actor) -> list[User]:
    """Whom this person can make a token for: himself, and the service accounts he answers for."""
    found = User.objects.filter(Q(pk=actor.id) | Q(responsible_id=actor.id), is_active=True)
    return list(found.order_by("responsible_id", "name"))


def organisations_of(accounts: Iterable[User]) -> list[Organisation]:
    """Where these accounts have a role."""
    mine = Organisation.objects.filter(memberships__user__in=list(accounts), memberships__ended_at=None)
    return list(mine.distinct().order_by("name"))


def scopes_for(owner: User) -> list[Verb]:
    """What a token of this account could be given: what the account may do itself, of what interfaces do."""
    held = actor_for(owner)
    return [verb for verb in Verb if verb in FOR_PROGRAMS and held.organisations(verb)]


def _open(text: str) -> ApiToken | None:
    prefix = shape(text)
    token = ApiToken.objects.select_related("owner").filter(prefix=prefix).first() if prefix else None
    same = hmac.compare_digest(token.sha256 if token else "0" * 64, _digest(text))
    if token is None or not same or token.ended(clock.now()) or not token.owner.is_active:
        return None
    return token


def _require_keeper(actor: Actor, owner: User) -> None:
    """A person keeps his own tokens and those of the service accounts he answers for; an administrator those of his accounts."""
    if actor.id is not None and actor.id in (owner.pk, owner.responsible_id):
        return
    organisations = owner.memberships.filter(ended_at=None).values_list("organisation_id", flat=True)
    if owner.responsible_id is None or not actor.may(Verb.GRANT, *organisations):
        raise NotPermitted("A token is kept by its owner, or by who answers for a service account.", code="access.not-permitted")


def _validate(owner: User, name: str, scopes: list[str], organisation: Organisation | None, days: int) -> None:
    fields: dict[str, list[str]] = {}
    held = actor_for(owner)
    if not name or len(name) > 80 or not name.isprintable():
        fields["name"] = ["Say in at most 80 characters what the token is for."]
    if not 1 <= days <= MOST_DAYS:
        fields["days"] = [f"A token lasts between 1 and {MOST_DAYS} days."]
    if organisation is not None and not any(organisation.pk in found for found in held.grants.values()):
        fields["organisation"] = [f"{owner.name} has no role in {organisation.name}."]
    limit = organisation.pk if organisation else None
    missing = [verb for verb in scopes if verb not in FOR_PROGRAMS or not _within(held.organisations(verb), limit)]
    if missing and "organisation" not in fields:
        fields["scopes"] = [f"{owner.name} can give no token for this there: {', '.join(missing)}."]
    if not scopes:
        fields["scopes"] = ["Choose at least one thing that the token may do."]
    if ApiToken.objects.filter(owner=owner, revoked_at=None, expires_at__gt=clock.now()).count() >= MOST_OPEN:
        fields["name"] = [f"There are {MOST_OPEN} open tokens already: revoke those that nobody uses."]
    if fields:
        raise InvalidToken(fields)


def _within(organisations: frozenset[UUID], limit: UUID | None) -> frozenset[UUID]:
    return organisations if limit is None else organisations & {limit}


def _record(actor: Actor, action: str, token: ApiToken, facts: dict[str, object]) -> None:
    """An event in each organisation that the token reaches into: each has auditors of its own."""
    held = actor_for(token.owner)
    reached = {pk for verb in token.scopes for pk in _within(held.organisations(verb), token.organisation_id)}
    for organisation_id in sorted(reached, key=str) or [NOBODY]:
        said = {"owner": str(token.owner_id), "prefix": token.prefix, **facts}
        audit.record(actor=actor, action=action, obj=token, organisation_id=organisation_id, facts=said)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
