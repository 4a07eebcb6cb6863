"""Service accounts: programs that place and follow orders. A person answers for each, and none logs in on a page.

Who answers has an open account and a role in each organisation where the program works. As soon as he has not, the program does
nothing there (`services.memberships_that_count`), until an administrator names somebody else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts.models import Membership, Organisation, User
from accounts.roles import Role, Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Refused


@dataclass(frozen=True)
class Program:
    """A service account in one of its organisations, as an administrator sees it."""

    account: User
    organisation: Organisation
    stopped: str  # why it does nothing there any more, in words; blank: it works


def make(*, actor: Actor, email: str, name: str, organisation: Organisation, responsible: User) -> User:
    """Make a service account of an organisation; its address is a name and gets no mail. Raises `Refused` in words."""
    email, name = email.strip().lower(), " ".join(name.split())
    try:
        validate_email(email)
    except ValidationError as error:
        raise Refused(" ".join(error.messages), code="account.invalid") from error
    if not name or len(name) > 200:
        raise Refused("Name the program in at most 200 characters.", code="account.invalid")
    if User.objects.filter(email__iexact=email).exists():
        raise Refused(f"There is an account {email} already.", code="account.known")
    if responsible.responsible_id is not None or not responsible.is_active:
        raise Refused("A person with an open account has to answer for it.", code="account.responsible")
    _require_there(responsible, [organisation])
    with transaction.atomic():
        account = User(email=email, name=name, responsible=responsible)
        account.set_unusable_password()
        account.save()
        membership = Membership.objects.create(user=account, organisation=organisation, role=Role.SERVICE, granted_at=clock.now())
        said = {"account": str(account.pk), "responsible": str(responsible.pk)}
        audit.record(actor=actor, action="membership.granted", obj=membership, organisation_id=organisation.pk, facts=said)
    return account


def hand_over(*, actor: Actor, account: User, to: User) -> None:
    """Have another person answer for it. Raises `NotPermitted` unless the actor administers all its organisations, or `Refused`."""
    with transaction.atomic():
        locked = User.objects.select_for_update(of=("self",)).get(pk=account.pk)
        organisations = _organisations(locked)
        for organisation in organisations:
            require(actor, Verb.GRANT, organisation.pk)
        if locked.responsible_id is None or to.responsible_id is not None or not to.is_active:
            raise Refused("A person with an open account has to answer for a program.", code="account.responsible")
        _require_there(to, organisations)
        said = {"account": str(locked.pk), "before": str(locked.responsible_id), "responsible": str(to.pk)}
        locked.responsible = to
        locked.save(update_fields=["responsible"])
        for organisation in organisations:
            audit.record(actor=actor, action="account.handed_over", obj=locked, organisation_id=organisation.pk, facts=said)


def administered(actor: Actor) -> list[Program]:
    """The service accounts of the organisations that this person administers: those that stand still first, then by name."""
    mine = Membership.objects.filter(
        organisation__in=actor.organisations(Verb.GRANT), user__responsible__isnull=False, ended_at=None
    ).select_related("user__responsible", "organisation")
    rows = list(mine.order_by("user__name", "user__email", "organisation__name"))
    working = _working({row.user.responsible_id for row in rows})
    found = [Program(row.user, row.organisation, _stopped(row, working)) for row in rows]
    return sorted(found, key=lambda program: not program.stopped)


def program_for(actor: Actor, pk: UUID) -> User:
    """The account of one of them. Raises `NotFound`."""
    found = next((program.account for program in administered(actor) if program.account.pk == pk), None)
    if found is None:
        raise NotFound
    return found


def could_answer(actor: Actor) -> list[User]:
    """People who work in the organisations that this person administers, by name."""
    there = Membership.objects.filter(organisation__in=actor.organisations(Verb.GRANT), ended_at=None)
    people = User.objects.filter(pk__in=there.values("user"), is_active=True, responsible=None)
    return list(people.exclude(memberships__role=Role.SERVICE).order_by("name", "email"))


def _organisations(account: User) -> list[Organisation]:
    there = Membership.objects.filter(user=account, ended_at=None)
    return list(Organisation.objects.filter(pk__in=there.values("organisation")).order_by("pk"))


def _working(people: Iterable[UUID | None]) -> set[tuple[UUID, UUID]]:
    rows = Membership.objects.filter(user__in=[pk for pk in people if pk], user__is_active=True, ended_at=None)
    return set(rows.values_list("user_id", "organisation_id"))


def _stopped(row: Membership, working: set[tuple[UUID, UUID]]) -> str:
    account, responsible = row.user, row.user.responsible
    if not account.is_active:
        return "its account is closed"
    if responsible is None or not responsible.is_active:
        return "the account of who answers for it is closed"
    if (responsible.pk, row.organisation_id) not in working:
        return f"who answers for it has no role in {row.organisation.name} any more"
    return ""


def _require_there(person: User, organisations: list[Organisation]) -> None:
    working = _working([person.pk])
    for organisation in organisations:
        if (person.pk, organisation.pk) not in working:
            words = f"{person.name} has no role in {organisation.name}: who answers for a program there has to work there."
            raise Refused(words, code="account.responsible")
