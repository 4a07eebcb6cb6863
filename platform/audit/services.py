"""Write an event; change a state together with its event."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast
from uuid import UUID

from django.db import connection, models

from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import IllegalMove, Stale
from foundation.machine import Machine


class Stateful(Protocol):
    """A row with a state, a version and an owner."""

    pk: Any
    state: str
    version: int

    @property
    def audit_organisation_id(self) -> UUID:
        """The organisation whose auditors see the event."""
        ...


def record(
    *, actor: Actor, action: str, obj: models.Model, organisation_id: UUID, reason: str = "", facts: Mapping[str, Any] | None = None
) -> Event:
    """Write one event inside the caller's transaction; without a transaction it is an error (half a deed is no deed)."""
    made = event(actor=actor, action=action, obj=obj, organisation_id=organisation_id, reason=reason, facts=facts)
    record_all([made])
    return made


def record_all(events: Iterable[Event]) -> None:
    """Write several events in one statement, in their order, as `record` writes one."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event belongs inside the transaction of the deed it records")
    Event.objects.bulk_create(events)


def event(
    *, actor: Actor, action: str, obj: models.Model, organisation_id: UUID, reason: str = "", facts: Mapping[str, Any] | None = None
) -> Event:
    """An event as `record` writes it, for `record_all`."""
    return Event(
        at=clock.now(),
        organisation_id=organisation_id,
        actor_id=actor.id,
        actor_name=actor.name,
        action=action,
        object_type=obj._meta.label_lower,
        object_id=str(obj.pk),
        reason=reason[:500],
        facts={**(facts or {}), **({"token": actor.token} if actor.token else {})},
        origin=actor.origin[:80],
    )


def transition(
    machine: Machine, obj: Stateful, *, to: str, actor: Actor, reason: str = "", expected_version: int | None = None, **changes: Any
) -> None:
    """Move `obj` along one edge, with its event, by a conditional UPDATE that must hit exactly one row.

    `changes` are columns that change in the same move. Raises `IllegalMove` when the edge does not exist and `Stale`
    when the row has moved on since `expected_version` (default: since it was read).
    """
    record_all([_moved(machine, obj, to, actor, reason, expected_version, changes)])


def transition_all(
    machine: Machine, moves: Iterable[tuple[Stateful, Mapping[str, Any]]], *, to: str, actor: Actor, reason: str = ""
) -> None:
    """Move several rows along one edge, each with its `changes`, as `transition` moves one; their events are one statement."""
    record_all([_moved(machine, obj, to, actor, reason, None, changes) for obj, changes in moves])


def _moved(
    machine: Machine, obj: Stateful, to: str, actor: Actor, reason: str, expected_version: int | None, changes: Mapping[str, Any]
) -> Event:
    """Move one row; the event that says so is still to be written."""
    source, version = obj.state, obj.version if expected_version is None else expected_version
    if not machine.allows(source, to):
        raise IllegalMove(f"{source.replace('_', ' ')} cannot become {to.replace('_', ' ')}", code="state.illegal-move")
    model = cast(type[models.Model], type(obj))
    values = {"state": to, "version": models.F("version") + 1, **changes}
    hit = model._default_manager.filter(pk=obj.pk, state=source, version=version).update(**values)
    if hit != 1:
        raise Stale(code="state.stale")
    for name, value in {**changes, "state": to, "version": version + 1}.items():
        setattr(obj, name, value)
    return event(
        actor=actor,
        action=f"state.{to}",
        obj=cast(models.Model, obj),
        organisation_id=obj.audit_organisation_id,
        reason=reason,
        facts={"from": source, "to": to, "version": version + 1},
    )
