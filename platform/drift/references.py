"""Freeze what outputs are measured against: by a person, from results of whole days that are over, for good."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection, transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from drift import features, measures
from drift.models import Feature, FrozenReference, Hour
from drift.thresholds import WINDOWS
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from registry.models import TestVersion

DAY = timedelta(days=1)
LOCK = 7_241_009  # advisory: one counts hours or freezes what they are counted against


@dataclass(frozen=True)
class Period:
    """Whole days in UTC, both inside."""

    since: date
    until: date

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """From the first midnight to the one after the last day."""
        return midnight(self.since), midnight(self.until + DAY)


def midnight(day: date) -> datetime:
    """The beginning of a day in UTC."""
    return datetime.combine(day, time(), UTC)


def freeze(*, actor: Actor, test: TestVersion, period: Period) -> list[FrozenReference]:
    """Freeze every feature that this test's results of these days have enough values of; what was frozen before ends today.

    The deployment and model are those that the test version is pinned to. Raises `NotPermitted`, and `Refused` for a period that is
    not over or has too few results.
    """
    organisation = test.definition.laboratory_id
    require(actor, Verb.KEEP_DRIFT, organisation)
    now = clock.now()
    if not period.since <= period.until < now.astimezone(UTC).date():
        raise Refused("The period has to begin before it ends, and to end before today (UTC): whole days that are over.")
    with transaction.atomic():
        _wait_for_counting()
        made = [_of(test, feature, period, values) for feature in Feature if len(values := _values(test, feature, period))]
        made = [one for one in made if one.n >= WINDOWS.least]
        if not made:
            raise Refused(
                f"These days have fewer than {WINDOWS.least:,} results of this test: too few to measure anything against."
            )
        for one in made:
            _end_earlier(one, now.astimezone(UTC).date())
            one.frozen_by, one.frozen_by_name, one.frozen_at = actor.id, actor.name, now
            one.save(force_insert=True)
            facts = {"feature": one.feature, "n": one.n, "sha256": one.sha256, "since": str(one.since), "until": str(one.until)}
            audit.record(actor=actor, action="drift.reference_frozen", obj=one, organisation_id=organisation, facts=facts)
        Hour.objects.filter(hour__gte=midnight(period.until + DAY)).update(done_at=None)
    return made


def content(reference: FrozenReference) -> dict[str, Any]:
    """What its SHA-256 covers. Floats as hexadecimal, so that no digit is lost."""
    return {
        "format": 1, "test_version": str(reference.test_version_id), "model_version": str(reference.model_version_id),
        "deployment": reference.deployment_id, "feature": reference.feature, "since": str(reference.since),
        "until": str(reference.until), "edges": [float(edge).hex() for edge in reference.edges],
        "counts": [int(count) for count in reference.counts], "n": reference.n,
        **{name: float(getattr(reference, name)).hex() for name in ("total", "squares", "low", "high")},
    }  # fmt: skip


def digest(reference: FrozenReference) -> str:
    """SHA-256 over the canonical content."""
    return hashlib.sha256(json.dumps(content(reference), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def deviation(reference: FrozenReference) -> float:
    """The standard deviation of what was frozen."""
    return float(np.sqrt(max(reference.squares / reference.n - (reference.total / reference.n) ** 2, 0.0)))


def live(organisations: frozenset[UUID] | None = None) -> list[FrozenReference]:
    """The references that count now, of all laboratories or of these."""
    found = FrozenReference.objects.filter(ended_on=None).select_related("test_version__definition", "deployment")
    if organisations is not None:
        found = found.filter(organisation_id__in=organisations)
    return list(found.order_by("test_version__definition__name", "test_version__number", "deployment_id", "feature"))


def _wait_for_counting() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def _values(test: TestVersion, feature: str, period: Period) -> measures.Reals:
    since, until = period.moments
    column = features.COLUMNS[feature]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {column} FROM drift_request q WHERE q.at >= %s AND q.at < %s AND q.kind = 'clinical'"  # noqa: S608 -- features.py
            f" AND q.test_version_id = %s AND q.deployment_id = %s AND q.model_version_id = %s AND {column} IS NOT NULL",
            [since, until, test.pk, test.deployment_id, test.deployment.model_version_id],
        )
        return np.sort(np.array([row[0] for row in cursor.fetchall()], dtype=np.float64))


def _of(test: TestVersion, feature: str, period: Period, values: measures.Reals) -> FrozenReference:
    edges = measures.edges_of(values)
    made = FrozenReference(
        organisation_id=test.definition.laboratory_id, test_version=test, model_version=test.deployment.model_version,
        deployment=test.deployment, feature=feature, since=period.since, until=period.until, edges=edges.tolist(),
        counts=measures.counted(values, edges).tolist(), n=len(values), total=float(values.sum()),
        squares=float(np.square(values).sum()), low=float(values[0]), high=float(values[-1]),
    )  # fmt: skip
    made.sha256 = digest(made)
    return made


def _end_earlier(one: FrozenReference, today: date) -> None:
    same = {name: getattr(one, name) for name in ("test_version", "model_version", "deployment", "feature")}
    FrozenReference.objects.filter(**same, ended_on=None).update(ended_on=today)
