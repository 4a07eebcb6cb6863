"""Reads of patient data are events, too: one for what a person looks at again and again within some minutes."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction

from audit import services
from audit.models import LastRead
from foundation import clock
from foundation.actor import Actor

WINDOW = timedelta(minutes=10)
# Two looks at the same moment are one: only one of them moves the row. Nothing is returned where the last one still counts.
_NOTE = """
    INSERT INTO audit_lastread AS known (organisation_id, actor_id, action, object_type, object_id, at)
    VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (actor_id, action, object_type, object_id) DO UPDATE SET at = greatest(known.at, excluded.at)
    WHERE NOT known.at BETWEEN %s AND %s
    RETURNING 1
"""


def seen(
    *,
    actor: Actor,
    action: str,
    obj: models.Model,
    organisation_id: UUID,
    also: Iterable[UUID] = (),
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write that this person looked at `obj`, once in `WINDOW`, for the auditors of `organisation_id` and of each in `also`.

    What a process of ours reads nobody has seen. `also` is only read where an event is written.
    """
    if actor.id is None:
        return
    now, kind, key = clock.now(), obj._meta.label_lower, str(obj.pk)
    since, until = now - WINDOW + timedelta(microseconds=1), now + WINDOW  # what a clock wrote that ran further ahead hides nothing
    of = {"actor_id": actor.id, "action": action, "object_type": kind, "object_id": key}
    known = LastRead.objects.filter(at__range=(since, until), **of)
    if known.exists():
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_NOTE, [organisation_id, actor.id, action, kind, key, now, since, until])
        if cursor.fetchone() is not None:
            services.record_all(
                services.event(actor=actor, action=action, obj=obj, organisation_id=one, facts=facts)
                for one in sorted({organisation_id, *also})
            )
