"""An administrator's page of service accounts: which work, which stand still and why, and who answers for each."""

from collections.abc import Mapping
from uuid import UUID

from accounts import programs
from foundation.actor import Actor
from foundation.errors import NotFound, Refused


def show(actor: Actor) -> dict[str, object]:
    """What the page shows."""
    return {"rows": programs.administered(actor), "people": programs.could_answer(actor)}


def hand_over(actor: Actor, data: Mapping[str, str]) -> str:
    """Have somebody else answer for one; what is said of it. Raises `NotFound`, or `Refused` in words."""
    account = programs.program_for(actor, _id(data.get("account", "")))
    to = next((person for person in programs.could_answer(actor) if str(person.pk) == data.get("to", "")), None)
    if to is None:
        raise Refused("Choose who answers for the program from now on.", code="account.responsible")
    programs.hand_over(actor=actor, account=account, to=to)
    return f"{to.name} answers for {account.name}."


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFound from error
