"""Call people to a stream that moved: once, by the outbox; one of them sees to it and closes it with a reason."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.people import members_who_may
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from drift import kept
from drift.machines import CALL
from drift.models import Call, Following, Window
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import NotFound, Refused
from notices import services as notices
from notices.services import Audience, Told
from outbox import services as outbox

TOPIC = "drift.call"
ACTOR = process("drift monitor")


def raised(window: Window) -> None:
    """Open a call, in the transaction that keeps its window; while one is open there is no second."""
    if Call.objects.filter(reference=window.reference).exclude(state="closed").exists():
        return
    call = Call.objects.create(
        organisation_id=window.organisation_id, reference=window.reference, window=window, opened_at=clock.now()
    )
    facts = {"reference": str(window.reference_id), "day": str(window.day), "light": window.light, "merged": window.merged}
    audit.record(actor=ACTOR, action="drift.called", obj=call, organisation_id=call.organisation_id, facts=facts)
    outbox.post(topic=TOPIC, payload={"call": str(call.pk)}, organisation_id=call.organisation_id)


def deliver(payload: Mapping[str, Any]) -> None:
    """Tell who may see to it, on the page and by e-mail."""
    call = Call.objects.select_related("reference__test_version__definition", "window").get(pk=payload["call"])
    people = set(members_who_may(Verb.KEEP_DRIFT).filter(organisation=call.organisation_id).values_list("user_id", flat=True))
    facts = {"test": str(call.reference.test_version), "feature": call.reference.feature, "day": str(call.window.day)}
    told = Told(
        key=f"drift:{call.pk}", kind="drift.called", organisation_id=call.organisation_id, parties=[call.organisation_id],
        facts=facts,
    )  # fmt: skip
    notices.tell(told, Audience(in_app=people, email=people))


def acknowledge(*, actor: Actor, pk: UUID) -> Call:
    """Say that one sees to it. Raises `NotFound`, `NotPermitted`, `IllegalMove` or `Stale`."""
    call = _of(actor, pk)
    with transaction.atomic():
        audit.transition(CALL, call, to="acknowledged", actor=actor, seen_by=actor.name, seen_at=clock.now())
    return call


def close(*, actor: Actor, pk: UUID, reason: str) -> Call:
    """Say what it was; the evidence of the stream begins anew. Raises as `acknowledge`, and `Refused` without a reason."""
    call, said = _of(actor, pk), " ".join(reason.split())
    if not 0 < len(said) <= 500:
        raise Refused("Say in at most 500 letters what it was: the reason is kept with the call.")
    with transaction.atomic():
        following = Following.objects.select_for_update().get(reference=call.reference_id)
        following.stream = kept.written(kept.read(following.stream).restarted())
        following.save(update_fields=["stream"])
        audit.transition(
            CALL, call, to="closed", actor=actor, reason=said, closed_by=actor.name, closed_at=clock.now(),
            closed_after=following.day, words=said,
        )  # fmt: skip
    return call


def _of(actor: Actor, pk: UUID) -> Call:
    call = Call.objects.for_actor(actor).filter(pk=pk).first()
    if call is None:
        raise NotFound
    require(actor, Verb.KEEP_DRIFT, call.organisation_id)
    return call
