"""What people may read of notices: each his own, and administrators what left their organisation."""

from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Organisation
from accounts.roles import Verb
from foundation.actor import NOBODY, Actor
from foundation.errors import NotFound
from notices.models import Delivery, Endpoint, Receipt

PAGE = 50


def inbox(actor: Actor) -> QuerySet[Receipt]:
    """What this person was told, of organisations that he still belongs to; newest first."""
    parties = sorted({organisation for organisations in actor.grants.values() for organisation in organisations})
    mine = Receipt.objects.filter(user_id=actor.id or NOBODY, notice__parties__overlap=parties)
    return mine.select_related("notice").order_by("-id")


def unread(actor: Actor) -> int:
    """How many of them he has not read."""
    return inbox(actor).filter(read_at=None).count() if actor.id is not None else 0


def administered(actor: Actor) -> list[Organisation]:
    """The organisations whose webhooks this person manages."""
    return list(Organisation.objects.filter(pk__in=actor.organisations(Verb.GRANT)).order_by("name"))


def endpoints(actor: Actor) -> list[Endpoint]:
    """The open webhooks of those organisations."""
    mine = Endpoint.objects.filter(organisation__in=actor.organisations(Verb.GRANT), ended_at=None)
    return list(mine.select_related("organisation").order_by("organisation__name", "name"))


def endpoint_for(actor: Actor, pk: UUID) -> Endpoint:
    """One of them. Raises `NotFound`."""
    found = Endpoint.objects.filter(organisation__in=actor.organisations(Verb.GRANT), pk=pk).first()
    if found is None:
        raise NotFound
    return found


def deliveries(actor: Actor, *, state: str = "") -> list[Delivery]:
    """What left these organisations or is to leave, the newest."""
    mine = Delivery.objects.filter(organisation_id__in=actor.organisations(Verb.GRANT)).select_related("notice", "user", "endpoint")
    if state:
        mine = mine.filter(state=state)
    return list(mine.order_by("-created_at")[:PAGE])


def delivery_for(actor: Actor, pk: UUID) -> Delivery:
    """One of them. Raises `NotFound`."""
    found = Delivery.objects.filter(organisation_id__in=actor.organisations(Verb.GRANT), pk=pk).first()
    if found is None:
        raise NotFound
    return found
