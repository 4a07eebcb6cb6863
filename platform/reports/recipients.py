"""Who gets the reports of an order: who asked for it, copies and other hospitals that people name, and who has read one before."""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts.models import Organisation, Provider, User
from accounts.people import members_who_may
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from orders import hints
from orders.errors import InvalidOrder
from orders.models import Order
from reports.delivery_models import Part, Recipient
from reports.models import ReportVersion

_REPORT_READ, _RESULTS_READ = ("report.viewed", "report.downloaded"), ("results.viewed", "results.exported")


class Named(Refused):
    """This recipient is named already."""


def known(order: Order) -> list[Recipient]:
    """Who gets the next report of an order: rows that there are, and those that its issue will make."""
    kept = list(Recipient.objects.filter(order=order).select_related("user", "provider", "hospital").order_by("id"))
    keys = {_key(one) for one in kept}
    return [one for one in _asked(order) if _key(one) not in keys] + [one for one in kept if one.ended_at is None]


def of_version(order: Order, version: ReportVersion) -> list[Recipient]:
    """Who is told of a version of a locked order: who gets its reports, and whoever had or read an earlier one."""
    _keep(order, _asked(order))
    earlier = order.reports.filter(released_at__isnull=False, number__lte=version.number).exclude(pk=version.pk)
    return _all_of(order, list(earlier.defer("content")))


def of_recall(order: Order) -> list[Recipient]:
    """Whoever had or read any report of a locked order."""
    return _all_of(order, list(order.reports.filter(released_at__isnull=False).defer("content")), gone=True)


def add(
    *, order: Order, actor: Actor, person: str = "", provider: UUID | None = None, hospital: str = "", address: str = ""
) -> Recipient:
    """Name a person of either side by his e-mail address, a provider who orders there, or another hospital by name or code.

    Raises `NotPermitted`, `InvalidOrder` or `Named`.
    """
    require(actor, Verb.DELIVER, *_parties(order))
    with transaction.atomic():
        locked = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        meant = _meant(locked, person.strip(), provider, hospital.strip(), address.strip())
        _keep(locked, _asked(locked))
        found = next((one for one in Recipient.objects.filter(order=locked) if _key(one) == _key(meant)), None)
        if found is not None and found.ended_at is None:
            raise Named(f"{found.name} is named already.", code="recipient.named")
        if found is None:
            meant.added_by_id = actor.id
            meant.save()
            found = meant
        else:
            found.ended_at, found.ended_by = None, None
            found.save(update_fields=["ended_at", "ended_by"])
        _note(found, "recipient.named", actor)
        hints.changed(locked)
    return found


def end(*, recipient: Recipient, actor: Actor) -> None:
    """Let somebody who was named get no further report. What he got he keeps being told of. Raises `NotPermitted` or `Refused`."""
    order = recipient.order
    require(actor, Verb.DELIVER, *_parties(order))
    if recipient.part not in (Part.COPY, Part.HOSPITAL):
        raise Refused("Who asked for an order gets its reports.", code="recipient.asked")
    with transaction.atomic():
        hit = Recipient.objects.filter(pk=recipient.pk, ended_at=None).update(ended_at=clock.now(), ended_by=actor.id)
        if hit:
            _note(recipient, "recipient.ended", actor)
            hints.changed(order)


def one_of(order: Order, pk: int) -> Recipient:
    """One of an order's recipients. Raises `NotFound`."""
    found = Recipient.objects.select_related("order").filter(order=order, pk=pk).first()
    if found is None:
        raise NotFound
    return found


def _all_of(order: Order, earlier: list[ReportVersion], *, gone: bool = False) -> list[Recipient]:
    had = set(Recipient.objects.filter(order=order, deliveries__isnull=False).values_list("pk", flat=True))
    _keep(order, _readers(order, earlier))
    rows = Recipient.objects.filter(order=order).select_related("user", "provider", "hospital").order_by("id")
    return [one for one in rows if one.pk in had or one.part == Part.READER or (one.ended_at is None and not gone)]


def _asked(order: Order) -> list[Recipient]:
    """Who placed the order and who ordered it; where neither can be reached, the organisation it came from."""
    found = [_new(order, Part.REQUESTER, user=order.placed_by)] if order.placed_by else []
    by = order.provider
    if by is not None and by.user is not None:
        if by.user_id != order.placed_by_id:
            found.append(_new(order, Part.PROVIDER, user=by.user))
    elif by is not None and (by.email or not found):
        found.append(_new(order, Part.PROVIDER, provider=by, address=by.email))
    return found or [_new(order, Part.REQUESTER, hospital=order.ordering_organisation)]


def _readers(order: Order, earlier: list[ReportVersion]) -> Iterable[Recipient]:
    """People who read a version that was issued, other than those of the laboratory who work on it and see every version."""
    if not earlier:
        return
    seen: set[UUID | None] = set()
    for version in earlier:
        reads = Event.objects.filter(object_type="reports.reportversion", object_id=str(version.pk), action__in=_REPORT_READ)
        seen |= set(reads.filter(at__gte=version.released_at, actor_id__isnull=False).values_list("actor_id", flat=True))
    since = min(version.released_at for version in earlier if version.released_at)
    results = Event.objects.filter(object_type="orders.order", object_id=str(order.pk), action__in=_RESULTS_READ, at__gte=since)
    seen |= set(results.filter(actor_id__isnull=False).values_list("actor_id", flat=True))
    at_work = members_who_may(Verb.VIEW_UNRELEASED).filter(organisation_id=order.performing_laboratory_id)
    for user in User.objects.filter(pk__in=[one for one in seen if one]).exclude(pk__in=at_work.values("user_id")).order_by("pk"):
        yield _new(order, Part.READER, user=user)


def _keep(order: Order, wanted: Iterable[Recipient]) -> None:
    there = {_key(one) for one in Recipient.objects.filter(order=order)}
    for one in wanted:
        if _key(one) not in there:
            one.save()
            there.add(_key(one))


def _new(
    order: Order, part: Part, *, user: User | None = None, provider: Provider | None = None, hospital: Organisation | None = None,
    address: str = "",
) -> Recipient:  # fmt: skip
    whom = cast(User | Provider | Organisation, user or provider or hospital)
    return Recipient(
        organisation_id=order.performing_laboratory_id, order=order, part=part, user=user, provider=provider, hospital=hospital,
        name=whom.name, address=address, added_at=clock.now(),
    )  # fmt: skip


def _key(one: Recipient) -> tuple[UUID | None, UUID | None, UUID | None]:
    return one.user_id, one.provider_id, one.hospital_id


def _meant(order: Order, person: str, provider: UUID | None, hospital: str, address: str) -> Recipient:
    """Whom a form means. Raises `InvalidOrder` at the field."""
    if person:
        members = members_who_may(Verb.VIEW_ORDER).filter(organisation_id__in=_parties(order), user__email__iexact=person)
        member = members.select_related("user").first()
        if member is None:
            words = "Nobody who may see orders of either side logs in with this address. Name his hospital, or his provider record."
            raise InvalidOrder({"person": [words]})
        return _new(order, Part.COPY, user=member.user)
    if provider:
        found = Provider.objects.filter(organisation_id=order.ordering_organisation_id, active=True, pk=provider).first()
        if found is None:
            raise InvalidOrder({"provider": ["Choose a provider of the organisation that ordered."]})
        if found.user is not None:
            return _new(order, Part.COPY, user=found.user)
        if not found.email:
            raise InvalidOrder({"provider": [f"{found.name} has neither an account nor an e-mail address in the provider record."]})
        return _new(order, Part.COPY, provider=found, address=found.email)
    return _hospital(order, hospital, address)


def _hospital(order: Order, said: str, address: str) -> Recipient:
    if not said:
        raise InvalidOrder({"person": ["Say who gets the report."]})
    others = Organisation.objects.exclude(pk__in=_parties(order))
    found = others.filter(code__iexact=said).first() or others.filter(name__iexact=said).first()
    if found is None:
        raise InvalidOrder({"hospital": ["No other hospital of this name or code is known here. An administrator adds it."]})
    try:
        validate_email(address or "nobody@example.org")
    except ValidationError:
        raise InvalidOrder({"address": ["This is no e-mail address."]}) from None
    return _new(order, Part.HOSPITAL, hospital=found, address=address.lower())


def _note(recipient: Recipient, action: str, actor: Actor) -> None:
    facts = {"recipient": recipient.name, "part": recipient.part}
    audit.record(actor=actor, action=action, obj=recipient.order, organisation_id=recipient.organisation_id, facts=facts)


def _parties(order: Order) -> tuple[UUID, UUID]:
    return order.ordering_organisation_id, order.performing_laboratory_id
