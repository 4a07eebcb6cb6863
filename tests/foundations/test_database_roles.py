"""The application's role can do its work and nothing else."""

import pytest
from django.db import ProgrammingError, connection, transaction

from audit.services import record
from foundation.actor import process
from tests import factories

pytestmark = pytest.mark.django_db

PROTECTED = ("audit_event", "engine_queue_result")


def _refused(sql: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
    except ProgrammingError as error:
        return "permission denied" in str(error) or "must be owner" in str(error) or "insert-only" in str(error)
    return False


def test_the_suite_runs_as_the_application() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone()[0] == "helicase_app"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE intruder (id int)",
        "ALTER TABLE orders_order DROP COLUMN priority",
        "DROP TABLE audit_event",
        "ALTER TABLE audit_event DISABLE TRIGGER ALL",
        "CREATE OR REPLACE FUNCTION orders_order_state_machine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "SET session_replication_role = replica",
        "CREATE ROLE intruder",
    ],
)
def test_the_application_has_no_ddl_and_no_way_round_a_trigger(sql: str) -> None:
    assert _refused(sql)


@pytest.mark.parametrize("table", PROTECTED)
@pytest.mark.parametrize("sql", ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}"])
def test_events_and_results_are_written_once(table: str, sql: str) -> None:
    order = factories.make_order()
    record(actor=process("test"), action="test", obj=order, organisation_id=order.performing_laboratory_id)
    assert _refused(sql.format(table))


@pytest.mark.parametrize("table", ["orders_order", "orders_patient", "orders_specimen", "reports_reportversion"])
def test_clinical_rows_cannot_be_deleted(table: str) -> None:
    assert _refused(f"DELETE FROM {table}")  # noqa: S608 -- a fixed list of names
