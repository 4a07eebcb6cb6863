"""Rows of results for tests of counting, written by the database itself, as many as one likes; and a test with a reference."""

from datetime import UTC, date, datetime, timedelta

from django.db import connection

from accounts.roles import Role
from drift import references
from drift.models import FrozenReference
from drift.references import Period
from foundation import clock
from registry.models import TestVersion
from tests.factories import make_actor, make_test_version

_MAKE = """
    INSERT INTO drift_request (at, result_id, organisation_id, site_id, test_version_id, model_version_id, deployment_id, kind,
                               tier, worker, delta, bits, bases, flags, failed)
    SELECT %(at)s::timestamptz + n * %(apart)s::interval, n, %(organisation)s, NULL, %(test)s, %(model)s, %(deployment)s, %(kind)s,
           n %% 4, 'engine-' || n %% 2, %(shift)s + drawn, 1 + drawn * drawn, 64, 0, n %% 50 = 0
    FROM generate_series(%(first)s, %(first)s + %(number)s - 1) AS n,
         LATERAL (SELECT (hashtextextended(n::text, 0) & 4294967295)::float8 / 4294967296 AS drawn) AS d
"""
MILLISECOND = timedelta(milliseconds=1)


def fill(
    test: TestVersion, at: datetime, number: int, *, first: int = 1, shift: float = 0.0, kind: str = "clinical"
) -> None:  # fmt: skip
    """Results of one test from this moment on, with Δ evenly between `shift` and one more."""
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, {
            "at": at - first * MILLISECOND, "apart": MILLISECOND, "number": number, "first": first, "shift": shift, "kind": kind,
            "test": test.pk, "organisation": test.definition.laboratory_id, "deployment": test.deployment_id,
            "model": test.deployment.model_version_id,
        })  # fmt: skip


def today() -> date:
    return clock.now().astimezone(UTC).date()


def noon(days_ago: int) -> datetime:
    day = today() - timedelta(days=days_ago)
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def frozen(days_ago: int, number: int = 4000) -> dict[str, FrozenReference]:
    """By feature: a test's results of one day."""
    test = make_test_version()
    fill(test, noon(days_ago), number)
    steward = make_actor(role=Role.MODEL_STEWARD, organisation=test.definition.laboratory)
    day = today() - timedelta(days=days_ago)
    references.freeze(actor=steward, test=test, period=Period(day, day))
    return {one.feature: one for one in FrozenReference.objects.filter(test_version=test)}
