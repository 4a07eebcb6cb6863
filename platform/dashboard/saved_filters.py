"""Filters of the worklist that are kept under a name: of one person, or of everybody who works in his laboratory."""

from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.roles import Verb
from accounts.selectors import home
from audit import services as audit
from dashboard.models import OpeningFilter, SavedFilter
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted, Refused
from foundation.printable import printable
from orders.asked_filters import NAMES

NAME_MOST, QUERY_MOST, MOST = 60, 1000, 40  # characters of a name and of an address; filters of one person


@dataclass(frozen=True)
class Kept:
    """A saved filter as its person sees it."""

    filter: SavedFilter
    current: bool  # it is the one that is shown
    opens: bool  # his worklist opens with it
    may_change: bool


def kept(actor: Actor, *, current: str = "") -> list[Kept]:
    """This person's own and his organisations' shared filters, by name."""
    opening = OpeningFilter.objects.filter(user=actor.id).values_list("filter", flat=True).first()
    return [
        Kept(one, one.query == current, one.pk == opening, _may_change(actor, one))
        for one in _visible(actor).select_related("owner").order_by("name", "pk")
    ]


def opening(actor: Actor) -> str:
    """The query that this person's worklist opens with; empty where he has chosen none, or may not see it any more."""
    found = OpeningFilter.objects.filter(user=actor.id, filter__in=_visible(actor)).select_related("filter").first()
    return found.filter.query if found else ""


def save(*, user: User, actor: Actor, name: str, query: str, shared: bool, opens: bool) -> SavedFilter:
    """Keep the filter of an address. Raises `Refused` or `NotPermitted`."""
    organisation, plain, name = home(user), canonical(query), _name(name)
    if organisation is None or not actor.organisations(Verb.VIEW_ORDER):
        raise NotPermitted("Your role does not include orders.", code="access.not-permitted")
    if shared and not actor.may(Verb.ASSIGN, organisation.pk):
        raise NotPermitted("Only who works on orders in the laboratory shares a filter with it.", code="access.not-permitted")
    if len(plain) > QUERY_MOST:
        raise Refused("This filter is too long to be kept.", code="filter.too-long")
    if SavedFilter.objects.filter(owner=user).count() >= MOST:
        raise Refused(f"You have {MOST} filters. Delete one that you do not need.", code="filter.too-many")
    with _unique(name), transaction.atomic():
        made = SavedFilter.objects.create(
            organisation=organisation, owner=user, name=name, query=plain, shared=shared, created_at=clock.now()
        )
        if shared:
            _note(made, "filter.shared", actor)
        if opens:
            open_with(actor=actor, pk=made.pk)
        return made


def rename(*, actor: Actor, pk: int, name: str) -> None:
    """Give it another name. Raises `NotFound`, `NotPermitted` or `Refused`."""
    found = _changeable(actor, pk)
    with _unique(_name(name)), transaction.atomic():
        SavedFilter.objects.filter(pk=found.pk).update(name=_name(name))
        _note(found, "filter.renamed", actor)


def delete(*, actor: Actor, pk: int) -> None:
    """Forget it; nobody's worklist opens with it any more. Raises `NotFound` or `NotPermitted`."""
    found = _changeable(actor, pk)
    with transaction.atomic():
        _note(found, "filter.deleted", actor)
        found.delete()


def open_with(*, actor: Actor, pk: int | None) -> None:
    """Open this person's worklist with it, or with None as everybody's. Raises `NotFound`."""
    if pk is None:
        OpeningFilter.objects.filter(user=actor.id).delete()
    else:
        OpeningFilter.objects.update_or_create(user_id=cast(UUID, actor.id), defaults={"filter": _one(actor, pk)})


def _note(one: SavedFilter, action: str, actor: Actor) -> None:
    """What a laboratory shares changes under an event, without its words, which may name patients. A person's own is his."""
    if one.shared:
        facts = {"owner": str(one.owner_id)}
        audit.record(actor=actor, action=action, obj=one, organisation_id=one.organisation_id, facts=facts)


def canonical(query: str) -> str:
    """The filters of an address in their order, without anything else that stood in it."""
    said = {name: value.replace("\0", "") for name, value in parse_qsl(query)}
    return urlencode({name: said[name] for name in NAMES if said.get(name)}) or "chip=open"


class _unique:
    """A name that is taken, in words."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IntegrityError):
            raise Refused(f"There is a filter “{self.name}” already. Choose another name.", code="filter.name-taken") from error


def _visible(actor: Actor) -> QuerySet[SavedFilter]:
    shared = Q(shared=True, organisation__in=actor.organisations(Verb.VIEW_ORDER))
    return SavedFilter.objects.filter(shared | Q(shared=False, owner=actor.id))


def _one(actor: Actor, pk: int) -> SavedFilter:
    found = _visible(actor).filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def _may_change(actor: Actor, one: SavedFilter) -> bool:
    return actor.may(Verb.ASSIGN, one.organisation_id) if one.shared else one.owner_id == actor.id


def _changeable(actor: Actor, pk: int) -> SavedFilter:
    found = _one(actor, pk)
    if not _may_change(actor, found):
        raise NotPermitted("Only who works on orders in the laboratory changes what it shares.", code="access.not-permitted")
    return found


def _name(text: str) -> str:
    plain = " ".join(printable(text).split())
    if not plain or len(plain) > NAME_MOST:
        raise Refused(f"Give it a name of at most {NAME_MOST} characters.", code="filter.name")
    return plain
