"""Who may put something into the registry, and the event that says who did."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from accounts.models import Organisation
from accounts.named import CODE
from accounts.roles import Role, Verb
from accounts.services import verbs_of
from audit import services as audit
from foundation.actor import NOBODY, Actor, process
from foundation.errors import NotPermitted

UNATTENDED = process("unattended start")  # brings the bundled model and the demonstration, where nobody decides anything
_DEEDS = {
    Verb.REGISTER: "register models, deployments, references, annotations and calibration tables",
    Verb.OFFER_TEST: "decide what a laboratory offers",
}


def require(actor: Actor, verb: Verb, laboratory: Organisation | None = None) -> None:
    """Raise `NotPermitted` for a person without the verb in this laboratory, or in any where none is named."""
    where = {laboratory.pk} if laboratory else _laboratories()
    if actor.id is None or actor.may(verb, *where):
        return
    roles = " or ".join(role.label for role in Role if verb in verbs_of(role))
    place = laboratory.name if laboratory else "a laboratory"
    raise NotPermitted(f"{actor.name} may not {_DEEDS[verb]}: it takes the role {roles} in {place}", code=CODE)


def note(actor: Actor, action: str, obj: models.Model, facts: Mapping[str, Any], laboratory: Organisation | None = None) -> None:
    """An event in the caller's transaction, for the auditors of this laboratory.

    Where none is named: of those in which the person may register, or of all where nobody decided. Before there is a laboratory
    the event belongs to none.
    """
    if laboratory is not None:
        concerned = {laboratory.pk}
    elif actor.id is None:
        concerned = _laboratories()
    else:
        concerned = _laboratories() & actor.organisations(Verb.REGISTER)
    for organisation in sorted(concerned) or [NOBODY]:
        audit.record(actor=actor, action=action, obj=obj, organisation_id=organisation, facts=facts)


def _laboratories() -> set[Any]:
    return set(Organisation.objects.filter(is_laboratory=True).values_list("pk", flat=True))
