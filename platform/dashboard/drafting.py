"""Drafts at the order form: kept as they are typed, listed, taken up again, discarded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from casefile import drafts, selectors
from casefile.drafts import LONGEST_TEXT, TOO_LONG, WARNED, Save
from casefile.errors import Ended, SavedElsewhere
from casefile.models import Draft
from dashboard.wording import day_and_time
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Stale

Data = Mapping[str, str]


@dataclass(frozen=True)
class Kept:
    """The draft behind a form; version 0: the server has nothing of it yet."""

    id: UUID
    version: int = 0
    saved_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Listed:
    """A draft in the list of its owner."""

    draft: Draft
    patient: str
    rest: str
    ends_soon: bool


def fresh() -> Kept:
    """Of a form that nobody has typed into."""
    return Kept(uuid4())


def behind(draft: Draft) -> Kept:
    """Of a form that shows this draft."""
    return Kept(draft.pk, draft.version, draft.saved_at, draft.expires_at)


def named(data: Data) -> Kept:
    """Of a form that was sent: the one it says, or a new one."""
    pk = identified(data.get("draft", ""))
    return Kept(pk, _number(data.get("draft_version", ""))) if pk else fresh()


def identified(said: str | None) -> UUID | None:
    """The id that a form or an address names; None for anything that is none."""
    try:
        return UUID(said or "")
    except ValueError:
        return None


def taken_up(actor: Actor, said: str | None) -> tuple[Draft | None, str]:
    """The draft that an address names, and else what became of it, in words."""
    pk = identified(said)
    if pk is None:
        return None, ""
    try:
        return selectors.draft_for(actor, pk), ""
    except NotFound:
        return None, selectors.ended_draft(actor, pk)


def listed(actor: Actor, tests: Mapping[str, str], *, without: UUID | None = None) -> list[Listed]:
    """This person's drafts but the one before him, the latest first."""
    soon = clock.now() + WARNED
    return [_listed(draft, tests, soon) for draft in selectors.drafts(actor) if draft.pk != without]


def _listed(draft: Draft, tests: Mapping[str, str], soon: datetime) -> Listed:
    typed = draft.typed
    name = ", ".join(filter(None, (typed.get("family_name", ""), typed.get("given_name", ""))))
    rest = [f"MRN {typed['mrn']}" if typed.get("mrn") else "", tests.get(typed.get("test", ""), ""), typed.get("priority", "")]
    return Listed(draft, name or "no patient yet", " · ".join(filter(None, rest)), draft.expires_at <= soon)


def save(
    actor: Actor, organisation_id: UUID, fields: Mapping[str, Any], data: Data, *, intake_id: UUID | None
) -> tuple[Draft, str]:
    """Keep what a form holds; and what is left out of it, in words. Raises what `drafts.save` raises."""
    typed = {name: data[name] for name in (*fields, "pasted") if data.get(name)}
    left_out = TOO_LONG if len(typed.get("pasted", "")) > LONGEST_TEXT else ""
    if left_out:
        del typed["pasted"]
    kept = named(data)
    wanted = Save(
        id=kept.id, organisation_id=organisation_id, typed=typed, intake_id=intake_id, seen=kept.version,
        window=data.get("window", "")[:36], replace=data.get("replace") == "yes",
    )  # fmt: skip
    return drafts.save(actor=actor, wanted=wanted), left_out


def answer(draft: Draft, left_out: str, zone: Any) -> dict[str, object]:
    """What the form is told of a save."""
    return {"version": draft.version, "saved": f"{draft.saved_at.astimezone(zone):%H:%M:%S}", "left_out": left_out}


def refusal(error: HelicaseError, zone: Any) -> tuple[dict[str, object], int]:
    """What the form is told when nothing was saved, and the status."""
    if isinstance(error, SavedElsewhere):
        when = day_and_time(error.at, now=clock.now(), zone=zone, seconds=True)
        words = f"Another window saved a newer version of this draft at {when}. Nothing was saved from here."
        return {"words": words, "version": error.version}, 409
    if isinstance(error, Ended | NotFound):
        return {"words": str(error), "over": True}, 410
    return {"words": str(error)}, 409 if isinstance(error, Stale) else 422


def _number(said: str) -> int:
    return int(said) if said.isdecimal() and len(said) < 10 else 0
