"""Due times and signatures by priority: from the command to the database, impossible ones refused in words."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from accounts.roles import Role
from registry import terms
from registry.errors import RegistrationRefused
from registry.models import TestVersion
from tests.factories import by, make_test_version

pytestmark = pytest.mark.django_db


def offer(**options: str) -> TestVersion:
    test = make_test_version()
    call_command(
        "offer_test", "again", "--name", "Again", "--laboratory", test.definition.laboratory.code, "--deployment",
        test.deployment.name, "--reference", test.reference.name, *by(Role.DIRECTOR, test.definition.laboratory),
        *(word for name, value in options.items() for word in (f"--{name}", value)),
    )  # fmt: skip
    return TestVersion.objects.get(definition__code="again")


def test_the_command_takes_due_times_and_signatures_and_leaves_the_others_as_usual() -> None:
    made = offer(sla="stat=2/10, routine=60/90", signatures="routine=2")
    assert made.sla_minutes == terms.SLA | {"stat": [2, 10], "routine": [60, 90]}
    assert made.signatures == {"stat": 1, "asap": 1, "urgent": 1, "routine": 2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sla": "stat=10"}, "minutes to scored and to released, as in stat=30/120"),
        ({"sla": "soon=1/2"}, "is not understood"),
        ({"sla": "stat=1/2,stat=1/3"}, "given twice"),
        ({"sla": "stat=10/5"}, "scored before released"),
        ({"sla": "stat=0/5"}, "at least a minute"),
        ({"signatures": "stat=3"}, "one or two people sign"),
        ({"signatures": "stat"}, "is not understood"),
        ({"accepts": "bam"}, "--accepts takes vcf"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write_instead(options: dict[str, str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        offer(**options)
    assert not TestVersion.objects.filter(definition__code="again").exists()


@pytest.mark.parametrize("signatures", [{}, {"stat": 1}, {**terms.SIGNATURES, "soon": 1}, {**terms.SIGNATURES, "stat": 0}])
def test_signatures_are_given_for_each_priority(signatures: dict[str, int]) -> None:
    with pytest.raises(RegistrationRefused):
        terms.checked(["vcf"], terms.SLA, signatures)


@pytest.mark.parametrize("changes", [{"signatures": {"stat": 3}}, {"signatures": {**terms.SIGNATURES, "asap": 0}}, {"accepts": []}])
def test_the_database_refuses_the_same(changes: dict[str, Any]) -> None:
    test = make_test_version()
    values = {name: getattr(test, name) for name in ("definition", "accepts", "reference", "deployment", "protocol", "sla_minutes")}
    with pytest.raises(DatabaseError), transaction.atomic():
        TestVersion.objects.create(number=2, created_at=test.created_at, **{**values, **changes})
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE registry_testversion SET signatures = '{}' WHERE id = %s", [test.pk])
