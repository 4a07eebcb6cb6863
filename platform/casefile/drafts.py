"""Drafts of orders: what a person has typed into the order form, kept on the server until it is placed, discarded or too old.

A draft begins with an id that its form was given, so that a save whose answer was lost is not another draft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import IntegrityError, transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from casefile.errors import Ended, SavedElsewhere
from casefile.machines import DRAFT
from casefile.models import Draft
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import NotFound, Refused
from orders.models import Order

KEPT = timedelta(days=14)  # after the last save
WARNED = timedelta(days=3)  # before its end
MOST = 50  # open drafts of a person
LONGEST = 2_000  # characters of one field
LONGEST_TEXT = 300_000  # characters of pasted text; longer ones are kept as a file, by being checked
SWEPT = 500  # drafts that one sweep ends


@dataclass(frozen=True)
class Save:
    """What one window wants to have kept."""

    id: UUID
    organisation_id: UUID
    typed: Mapping[str, str]
    intake_id: UUID | None = None
    seen: int = 0  # version that this window has seen; 0: none
    window: str = ""
    replace: bool = field(default=False)  # the person was told of a newer version, and wants his own


def save(*, actor: Actor, wanted: Save) -> Draft:
    """Keep it. Raises `SavedElsewhere` where another window saved after what this one has seen, `Ended`, or `Refused`.

    To anybody but its owner a draft does not exist (`NotFound`).
    """
    require(actor, Verb.PLACE, wanted.organisation_id)
    typed = fitting(wanted.typed)
    try:
        return _save(actor, wanted, typed)
    except IntegrityError:  # the first save of this id came twice, at the same moment
        try:
            return _save(actor, wanted, typed)
        except IntegrityError as error:  # it is another person's
            raise NotFound from error


def _save(actor: Actor, wanted: Save, typed: dict[str, str]) -> Draft:
    with transaction.atomic():
        draft = _locked(actor, wanted.id)
        if draft is None:
            return _begin(actor, wanted, typed)
        _still_open(draft)
        if not _may_overwrite(draft, wanted, typed):
            raise SavedElsewhere(draft.version, draft.saved_at)
        return _write(draft, wanted, typed)


def fitting(typed: Mapping[str, str]) -> dict[str, str]:
    """What of a form is kept: every field that is filled in. Raises `Refused` for a text that does not fit."""
    kept = {name: value.replace("\0", "") for name, value in typed.items() if value.strip()}
    for name, value in kept.items():
        if len(value) > (LONGEST_TEXT if name == "pasted" else LONGEST):
            raise Refused(TOO_LONG if name == "pasted" else "One of the fields holds too much text to be saved.", code="draft.long")
    return kept


TOO_LONG = "The pasted text is too long for a draft. Check it: it is then kept as a file, and the draft with it."


def discard(*, actor: Actor, draft: Draft) -> None:
    """End it by its owner's wish; one that has ended stays as it is."""
    with transaction.atomic():
        locked = _locked(actor, draft.pk)
        if locked is None:
            raise NotFound
        if locked.state == "open":
            _end(locked, "discarded", actor)


def placed(*, actor: Actor, draft_id: UUID | None, order: Order) -> None:
    """End the draft that this order came of, in the transaction that places it.

    A form whose first save is still under way gets its draft here, so that this save finds it placed.
    """
    if draft_id is None:
        return
    draft = _locked(actor, draft_id) or _create(actor, Save(draft_id, order.ordering_organisation_id, {}), {})
    if draft.state == "open":
        _end(draft, "placed", actor, order=order)


def order_of(*, actor: Actor, draft_id: UUID | None) -> Order | None:
    """The order that has come of this draft, which stays locked until the transaction ends: placing twice gives one order."""
    draft = _locked(actor, draft_id) if draft_id else None
    return draft.order if draft is not None else None


def expire() -> int:
    """End drafts that nobody has saved for too long; returns how many."""
    due = Draft.objects.filter(state="open", expires_at__lte=clock.now()).order_by("expires_at").values_list("pk", flat=True)
    ended = 0
    for pk in list(due[:SWEPT]):
        with transaction.atomic():
            draft = Draft.objects.select_for_update(of=("self",)).filter(pk=pk, state="open", expires_at__lte=clock.now()).first()
            if draft is not None:
                _end(draft, "expired", process("draft sweeper"))
                ended += 1
    return ended


def _locked(actor: Actor, pk: UUID) -> Draft | None:
    # Without its order: a row that was waited for comes back as it is now, but what is joined to it as it was before.
    rows = Draft.objects.for_actor(actor).filter(owner_id=actor.id).select_for_update(of=("self",))
    found: Draft | None = rows.filter(pk=pk).first()
    return found


def _begin(actor: Actor, wanted: Save, typed: dict[str, str]) -> Draft:
    if Draft.objects.filter(owner_id=actor.id, state="open").count() >= MOST:
        raise Refused(f"You have {MOST} drafts. Place or discard one, then save this one.", code="draft.too-many")
    return _create(actor, wanted, typed)


def _create(actor: Actor, wanted: Save, typed: dict[str, str]) -> Draft:
    now = clock.now()
    draft = Draft.objects.create(
        id=wanted.id, organisation_id=wanted.organisation_id, owner_id=cast(UUID, actor.id), intake_id=wanted.intake_id,
        typed=typed, window=wanted.window, created_at=now, saved_at=now, expires_at=now + KEPT,
    )  # fmt: skip
    audit.record(actor=actor, action="draft.created", obj=draft, organisation_id=draft.organisation_id)
    return draft


def _still_open(draft: Draft) -> None:
    match draft.state:
        case "placed":
            raise Ended(f"This draft was placed as order {draft.order}.", code="draft.placed")
        case "discarded":
            raise Ended("This draft was discarded in another window.", code="draft.discarded")
        case "expired":
            raise Ended("This draft was not saved for too long and has ended.", code="draft.expired")


def _may_overwrite(draft: Draft, wanted: Save, typed: Mapping[str, str]) -> bool:
    mine = bool(wanted.window) and draft.window == wanted.window  # the answer to my last save was lost
    same = draft.typed == typed and draft.intake_id == wanted.intake_id
    return wanted.replace or mine or same or draft.version == wanted.seen


def _write(draft: Draft, wanted: Save, typed: dict[str, str]) -> Draft:
    draft.typed, draft.intake_id, draft.organisation_id = typed, wanted.intake_id, wanted.organisation_id
    draft.window, draft.version, draft.saved_at = wanted.window, draft.version + 1, clock.now()
    draft.expires_at = draft.saved_at + KEPT
    draft.save(update_fields=["typed", "intake", "organisation", "window", "version", "saved_at", "expires_at"])
    return draft


def _end(draft: Draft, state: str, actor: Actor, *, order: Order | None = None) -> None:
    now = clock.now()
    audit.transition(DRAFT, draft, to=state, actor=actor, reason=f"draft.{state}", typed={}, ended_at=now, order=order)
