"""What people may read of the case file. Every function takes the actor and returns nothing he may not see."""

from collections import Counter
from uuid import UUID

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

from accounts.roles import Verb
from casefile.drafts import WARNED
from casefile.models import Attachment, Comment, Draft
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.models import Order


def drafts(actor: Actor) -> list[Draft]:
    """This person's open drafts, the latest first."""
    return list(_mine(actor).order_by("-saved_at"))


def drafts_ending(actor: Actor) -> list[Draft]:
    """Those of them that end soon, the next one first."""
    return list(_mine(actor).filter(expires_at__lte=clock.now() + WARNED).order_by("expires_at"))


def draft_for(actor: Actor, pk: UUID) -> Draft:
    """An open draft of this person. Raises `NotFound`: to everybody else it does not exist."""
    found: Draft | None = _mine(actor).filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def _mine(actor: Actor) -> QuerySet[Draft]:
    rows: QuerySet[Draft] = Draft.objects.for_actor(actor).filter(owner_id=actor.id, state="open", expires_at__gt=clock.now())
    return rows


def comments(actor: Actor, order: Order) -> list[Comment]:
    """What was written about an order, oldest first, as far as this actor reads it."""
    rows = Comment.objects.for_actor(actor).filter(order=order).select_related("author", "withdrawn_by")
    return list(rows.order_by("id"))


def comment_for(actor: Actor, order: Order, pk: int) -> Comment:
    """One of them. Raises `NotFound`."""
    found: Comment | None = Comment.objects.for_actor(actor).filter(order=order, pk=pk).first()
    if found is None:
        raise NotFound
    return found


def attachments(actor: Actor, order: Order) -> list[Attachment]:
    """The files of an order, the withdrawn ones too."""
    rows = Attachment.objects.for_actor(actor).filter(order=order).select_related("file", "added_by", "withdrawn_by")
    return list(rows.order_by("number"))


def attachment_for(actor: Actor, order: Order, pk: UUID) -> Attachment:
    """One of them. Raises `NotFound`."""
    rows = Attachment.objects.for_actor(actor).filter(order=order).select_related("file", "order")
    found: Attachment | None = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def attachment_to_read(actor: Actor, order_id: UUID, pk: UUID) -> Attachment:
    """A file whose bytes this actor may have: of a withdrawn one auditors of the laboratory, else who sees the order."""
    withdrawn = Q(state="withdrawn", organisation_id__in=actor.organisations(Verb.VIEW_AUDIT))
    rows = Attachment.objects.for_actor(actor).filter(state="kept") | Attachment.objects.for_actor(actor, Verb.VIEW_AUDIT).filter(
        withdrawn
    )
    found: Attachment | None = rows.filter(order_id=order_id, pk=pk).select_related("file", "order").first()
    if found is None:
        raise NotFound
    return found


def stamp(actor: Actor, order: Order) -> str:
    """Changes whenever somebody wrote or laid something beside this order, or withdrew it."""
    written = Comment.objects.for_actor(actor).filter(order=order).order_by().values_list(Cast("id", TextField()), Value("written"))
    laid = Attachment.objects.for_actor(actor).filter(order=order).order_by().values_list(Cast("id", TextField()), "state")
    found = Counter(state for _, state in written.union(laid, all=True))
    return f"{found['written']}.{found['kept']}.{found['withdrawn']}"


def ended_draft(actor: Actor, pk: UUID) -> str:
    """What became of a draft of this person that is open no more, in words; empty where there never was one."""
    rows = Draft.objects.for_actor(actor).filter(owner_id=actor.id, pk=pk).select_related("order")
    found: Draft | None = rows.first()
    if found is None:
        return ""
    if found.state == "placed":
        return f"This draft was placed as order {found.order}."
    return "This draft was discarded." if found.state == "discarded" else "This draft was not saved for 14 days and has ended."
