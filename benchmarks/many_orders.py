"""Two hundred thousand orders of fifty laboratories, written by the database itself: copies of a placed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.laboratory import Laboratory

ORDERS, LABORATORIES, HOSPITALS, PATIENTS = 200_000, 50, 100, 120_000
LARGE = 0.6  # of the orders are the first laboratory's
OPEN = 0.25  # of the orders are open
STAFF = 8  # people a laboratory
_SEED = "SELECT setseed(0.26)"

# Everything an order gets by chance, drawn once; `lab` 0 is the large one.
_DRAWN = """
    CREATE TEMP TABLE drawn AS
    SELECT n, md5('order' || n)::uuid AS id,
        CASE WHEN random() < {large} THEN 0 ELSE 1 + (n % {others}) END AS lab,
        (random() * {hospitals})::int % {hospitals} AS hospital, random() < 0.2 AS own, random() < {open} AS is_open,
        (n % {patients}) AS patient, now() - random() ^ 2 * interval '700 days' AS closed_placed,
        now() - random() * interval '20 days' AS open_placed, random() AS by_state, random() AS by_rank, random() AS by_flag,
        random() * interval '30 days' AS due_after, (random() * 2)::int AS test,
        (random() * {staff})::int % {staff} AS person, random() AS by_person
    FROM generate_series(0, {orders} - 1) AS n
"""
_STATE = """CASE WHEN NOT is_open THEN CASE WHEN by_state < 0.9 THEN 'reported' ELSE 'cancelled' END
    WHEN by_state < 0.02 THEN 'submitted' WHEN by_state < 0.30 THEN 'accepted' WHEN by_state < 0.40 THEN 'in_analysis'
    WHEN by_state < 0.95 THEN 'awaiting_review' ELSE 'awaiting_second_review' END"""
_RANK = "CASE WHEN by_rank < 0.002 THEN 0 WHEN by_rank < 0.03 THEN 1 WHEN by_rank < 0.15 THEN 2 ELSE 3 END"
_PLACED = "CASE WHEN is_open THEN open_placed ELSE closed_placed END"
_SCORED = "(NOT is_open OR by_state >= 0.40)"


def build(superuser: str, laboratory: Laboratory, *, orders: int = ORDERS) -> None:
    """Copy what one real order hangs on; triggers and foreign keys rest meanwhile, and the planner counts at the end."""
    laboratory.offer("bench", window=64)
    placed = laboratory.place(laboratory.ready(laboratory.variants("bench", 1, 5)), "routine")
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica; SET work_mem = '64MB'; SET maintenance_work_mem = '256MB'")
        connection.execute(_SEED)
        numbers = {"large": LARGE, "open": OPEN, "others": LABORATORIES - 1, "hospitals": HOSPITALS, "patients": PATIENTS}
        connection.execute(_DRAWN.format(orders=orders, staff=STAFF, **numbers))
        _organisations(connection, placed)
        _people(connection, laboratory)
        _patients(connection, placed)
        _orders(connection, placed)
        _runs(connection, placed)
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")


def organisation(number: int) -> str:
    """SQL for the id of a laboratory; 0 is the large one."""
    return f"md5('lab{number}')::uuid"


def _organisations(connection: psycopg.Connection[Any], placed: Any) -> None:
    test = placed.test_version
    for kind, count, is_laboratory in (("lab", LABORATORIES, "true"), ("hospital", HOSPITALS, "false")):
        changed = {"id": f"md5('{kind}' || n)::uuid", "code": f"'{kind}-' || n", "name": f"initcap('{kind} ') || n"}
        source = f"generate_series(0, {count - 1}) AS n"
        _copy(connection, placed.performing_laboratory, source, {**changed, "is_laboratory": is_laboratory})
    source = f"generate_series(0, {LABORATORIES - 1}) AS n, generate_series(0, 2) AS k"
    own = {"id": "md5('test' || n || '.' || k)::uuid", "laboratory_id": "md5('lab' || n)::uuid"}
    _copy(connection, test.definition, source, own | {"code": "'test-' || k", "name": "'Isolate panel ' || k"})
    _copy(connection, test, source, {"id": "md5('version' || n || '.' || k)::uuid", "definition_id": own["id"]})


def _people(connection: psycopg.Connection[Any], laboratory: Laboratory) -> None:
    from accounts.models import Membership, User

    user = User.objects.get(pk=laboratory.actor.id)
    everybody = f"generate_series(0, {LABORATORIES - 1}) AS n, generate_series(0, {STAFF - 1}) AS k"
    person = "md5('person' || n || '.' || k)::uuid"
    _copy(
        connection,
        user,
        everybody,
        {"id": person, "email": "'p' || n || '.' || k || '@example.org'", "name": "'Person ' || n || '.' || k"},
    )
    member = Membership.objects.filter(user=user).earliest("id")
    role = "(ARRAY['analyst', 'analyst', 'reviewer', 'director'])[k % 4 + 1]"
    identity = {"id": "nextval('accounts_membership_id_seq')", "user_id": person}
    _copy(connection, member, everybody, {**identity, "organisation_id": "md5('lab' || n)::uuid", "role": role})
    requesters = f"generate_series(0, {HOSPITALS - 1}) AS n"
    requester = "md5('requester' || n)::uuid"
    _copy(connection, user, requesters, {"id": requester, "email": "'r' || n || '@example.org'", "name": "'Requester ' || n"})
    identity["user_id"] = requester
    _copy(connection, member, requesters, {**identity, "organisation_id": "md5('hospital' || n)::uuid", "role": "'requester'"})


def _patients(connection: psycopg.Connection[Any], placed: Any) -> None:
    from orders.models import PatientIdentifier

    source = f"(SELECT n, random() AS a, random() AS b FROM generate_series(0, {PATIENTS - 1}) AS n) AS drawn_names"  # noqa: S608 -- our own words
    family, given = ("initcap(translate(md5('{}' || (a_b ^ 2 * {})::int), '0123456789', 'aeiounrstl'))" for _ in range(2))
    names = {
        "family_name": f"left({family.format('f', 3000).replace('a_b', 'a')}, 7)",
        "given_name": f"left({given.format('g', 600).replace('a_b', 'b')}, 5)",
    }
    changed = {"id": "md5('patient' || n)::uuid", "organisation_id": f"md5('hospital' || n % {HOSPITALS})::uuid", **names}
    _copy(connection, placed.patient, source, changed)
    identifier = PatientIdentifier.objects.get(patient=placed.patient)
    number = {
        "id": "nextval('orders_patientidentifier_id_seq')",
        "patient_id": changed["id"],
        "value": "'77-' || lpad(n::text, 6, '0')",
    }
    _copy(connection, identifier, source, {**number, "organisation_id": changed["organisation_id"]})


def _orders(connection: psycopg.Connection[Any], placed: Any) -> None:
    laboratory, patient = "md5('lab' || lab)::uuid", "md5('patient' || patient)::uuid"
    parties = {
        "ordering_organisation_id": f"CASE WHEN own THEN {laboratory} ELSE md5('hospital' || hospital)::uuid END",
        "performing_laboratory_id": laboratory,
    }
    test = "md5('version' || lab || '.' || test)::uuid"
    _copy(connection, placed.intake, "drawn", {"id": "drawn.id", "item_set_id": "NULL", "test_version_id": test, **parties})
    _copy(connection, placed.specimen, "drawn", {"id": "drawn.id", "patient_id": patient, "organisation_id": laboratory})
    person = "md5('person' || lab || '.' || person)::uuid"
    changed = {
        "id": "drawn.id", "accession": f"to_char({_PLACED}, '\"A\"YY') || '-' || lpad(n::text, 6, '0')", **parties,
        "patient_id": patient, "stated_mrn": "'77-' || lpad(patient::text, 6, '0')", "specimen_id": "drawn.id",
        "test_version_id": test, "intake_id": "drawn.id", "state": _STATE, "rank": _RANK,
        "priority": f"(ARRAY['stat', 'asap', 'urgent', 'routine'])[{_RANK} + 1]",
        "stat_reason": f"CASE WHEN {_RANK} = 0 THEN 'sepsis' ELSE '' END",
        "attention": "CASE WHEN is_open AND by_flag < 0.01 THEN 'result.item-failed' ELSE '' END",
        "hold_reason": "CASE WHEN is_open AND by_flag > 0.99 THEN 'hold.specimen' ELSE '' END", "hold_agreed": "by_flag > 0.99",
        "assignee_id": f"CASE WHEN by_person < 0.6 THEN {person} END",
        "placed_by_id": f"CASE WHEN own THEN {person} ELSE md5('requester' || hospital)::uuid END",
        "placed_at": _PLACED, "accepted_at": f"CASE WHEN {_STATE} <> 'submitted' THEN {_PLACED} END",
        "started_at": f"CASE WHEN {_SCORED} THEN {_PLACED} + interval '1 hour' END",
        "scored_at": f"CASE WHEN {_SCORED} THEN {_PLACED} + interval '2 hours' END",
        "ended_at": f"CASE WHEN NOT is_open THEN {_PLACED} + interval '1 day' END",
        "result_due": f"CASE WHEN {_STATE} <> 'submitted' THEN {_PLACED} + due_after END",
        "report_due": f"CASE WHEN {_STATE} <> 'submitted' THEN {_PLACED} + due_after + interval '1 day' END",
        "risk": f"CASE WHEN is_open AND NOT {_SCORED} AND by_flag BETWEEN 0.4 AND 0.45 THEN 'at_risk' ELSE '' END",
    }  # fmt: skip
    _copy(connection, placed, "drawn", changed)


def _runs(connection: psycopg.Connection[Any], placed: Any) -> None:
    """Of open orders that are not scored: what the line of the engine is made of."""
    from engine_queue.models import Job, Run

    waiting = "(SELECT * FROM drawn WHERE is_open AND by_state BETWEEN 0.02 AND 0.40) AS waiting"
    run = Run.objects.get(order_id=placed.pk)
    due = "open_placed + due_after"
    owner = {"organisation_id": "md5('lab' || lab)::uuid"}
    _copy(connection, run, waiting, {"id": "waiting.id", "order_id": "waiting.id", "rank": _RANK, "due_at": due, **owner})
    job = Job.objects.filter(run=run).earliest("id")
    identity = {"id": "nextval('engine_queue_job_id_seq')", "run_id": "waiting.id"}
    _copy(connection, job, waiting, {**identity, "rank": _RANK, "due_at": due, **owner})


def _copy(connection: psycopg.Connection[Any], row: Any, source: str, changed: Mapping[str, str]) -> None:
    """A copy of `row` for each line of `source`, with the columns in `changed` as SQL over that line."""
    columns = [field.column for field in row._meta.local_concrete_fields]
    values = [f"({changed[column]})" if column in changed else f"template.{column}" for column in columns]
    into, told = f"INSERT INTO {row._meta.db_table} AS made ({', '.join(columns)})", f"SELECT {', '.join(values)}"
    whole = f"{into} {told} FROM {source}, {row._meta.db_table} AS template WHERE template.id = "
    connection.execute(sql.SQL(whole) + sql.Literal(row.pk))  # type: ignore[arg-type] -- our own words
