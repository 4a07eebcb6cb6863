"""Every row that results are pinned to stays as it is: tried on each column of each table, as the application's own role."""

from collections.abc import Iterator

import pytest
from django.db import Error, IntegrityError, connection, transaction

from foundation import clock
from registry import calibration
from registry.models import Annotation, Deployment, FileProof, ModelVersion, TestVersion
from registry.registering import UNATTENDED
from registry.services import inspected
from tests.factories import make_test_version

pytestmark = pytest.mark.django_db

TABLES = (
    "registry_modelversion", "registry_inspection", "registry_deployment", "registry_calibrationtable", "registry_reference",
    "registry_markovtable", "registry_annotation", "registry_fileproof", "registry_testdefinition", "registry_testversion",
)  # fmt: skip
OTHER = {
    "character varying": "'other'", "text": "'other'", "uuid": "gen_random_uuid()", "jsonb": "'[\"other\"]'",
    "timestamp with time zone": "{} + interval '1 second'", "integer": "{} + 1", "smallint": "{} + 1", "bigint": "{} + 1",
    "bytea": "{} || '\\x00'", "ARRAY": "array_append({}, 'other')", "boolean": "NOT {}",
}  # fmt: skip
REFUSED = ("is pinned", "is insert-only", "permission denied")


@pytest.fixture(autouse=True)
def rows() -> TestVersion:
    """One row in every table."""
    test = make_test_version()
    inspected(test.deployment.model_version, {"fingerprint": "f", "golden": "g"})
    calibration.register(
        model_version=test.deployment.model_version, protocol=test.protocol, precision="fp32", source="made for a test",
        text="delta,probability\n0,0\n1,1\n", actor=UNATTENDED,
    )  # fmt: skip
    Deployment.objects.update(fingerprint="f" * 63, golden="g" * 63)
    FileProof.objects.create(path="p", seen="s", digest="d", proven_at=clock.now())
    Annotation.objects.create(
        name="genes", reference=test.reference, digest="d", path="data:none", form_sha256="d", codes={}, facts={},
        created_at=clock.now(),
    )  # fmt: skip
    return test


def _columns() -> Iterator[tuple[str, str, str]]:
    asked = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s ORDER BY 1"
    for table in TABLES:
        with connection.cursor() as cursor:
            cursor.execute(asked, [table])
            yield from ((table, *row) for row in cursor.fetchall())


def _said(sql: str) -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
    except Error as error:
        return str(error)
    return "done"


def _updated(table: str, change: str) -> str:
    return _said(f"UPDATE {table} SET {change}")  # noqa: S608 -- names of this file


def test_the_application_can_change_no_column_of_what_results_are_pinned_to() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone()[0] == "helicase_app"
    tried = {f"{t}.{c}": _updated(t, f'"{c}" = {OTHER[kind]}'.replace("{}", f'"{c}"')) for t, c, kind in _columns()}
    assert len(tried) > 60
    let_through = {what: said for what, said in tried.items() if not any(words in said for words in REFUSED)}
    assert let_through == {"registry_testversion.offered": "done"}


@pytest.mark.parametrize("table", TABLES)
def test_the_application_can_take_no_such_row_away(table: str) -> None:
    assert any(words in _said(f"DELETE FROM {table}") for words in (*REFUSED, "are kept"))  # noqa: S608 -- names of this file
    assert "permission denied" in _said(f"TRUNCATE {table} CASCADE")


def test_bits_are_pinned_once_they_are_known_and_not_before() -> None:
    model = ModelVersion.objects.get()
    Deployment.objects.create(name="later", model_version=model, precision="fp32", pin={"threads": 1}, created_at=clock.now())
    later = Deployment.objects.filter(name="later")
    assert later.update(fingerprint="a", golden="b") == 1
    for change in ({"fingerprint": ""}, {"golden": ""}, {"golden": "c"}, {"fingerprint": "", "golden": ""}):
        with pytest.raises(IntegrityError, match="is pinned"), transaction.atomic():
            later.update(**change)
