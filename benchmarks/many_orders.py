"""Two hundred thousand orders of fifty laboratories with what belongs to them, written by the database itself as copies of one."""

from __future__ import annotations

from typing import Any

from benchmarks import copied, many_people
from benchmarks.copied import Connection
from benchmarks.laboratory import Laboratory
from benchmarks.many_people import HOSPITAL, HOSPITALS, LABORATORIES, LABORATORY, PATIENT, PERSON, REQUESTER, STAFF

ORDERS = 200_000
LARGE = 0.6  # of the orders are the first laboratory's
OPEN = 0.25  # of the orders are open
EVENTS = 4  # of an order in the audit trail
TABLES = (
    *many_people.TABLES, "orders_order", "orders_intake", "orders_specimen", "orders_hold", "orders_identitycheck", "audit_event",
    "engine_queue_run", "engine_queue_job",
)  # fmt: skip

# Everything an order gets by chance, drawn once.
_DRAWN = f"""
    CREATE TEMP TABLE drawn AS
    SELECT *, {many_people.patient_of("own", "lab", "hospital", "by_patient")} AS patient FROM (
        SELECT n, md5('order' || n)::uuid AS id,
            CASE WHEN random() < {LARGE} THEN 0 ELSE 1 + (n % {LABORATORIES - 1}) END AS lab,
            floor(random() * {HOSPITALS})::int AS hospital, random() < 0.2 AS own, random() < {OPEN} AS is_open,
            now() - random() ^ 2 * interval '700 days' AS closed_placed,
            now() - random() * interval '20 days' AS open_placed, random() AS by_state, random() AS by_rank, random() AS by_flag,
            random() * interval '30 days' AS due_after, (random() * 2)::int AS test, random() AS by_patient,
            floor(random() * {STAFF})::int AS person, random() AS by_person, random() AS by_tube
        FROM generate_series(0, {{orders}} - 1) AS n
    ) AS chances
"""  # noqa: S608 -- our own words
_STATE = """CASE WHEN NOT is_open THEN CASE WHEN by_state < 0.9 THEN 'reported' ELSE 'cancelled' END
    WHEN by_state < 0.02 THEN 'submitted' WHEN by_state < 0.30 THEN 'accepted' WHEN by_state < 0.40 THEN 'in_analysis'
    WHEN by_state < 0.95 THEN 'awaiting_review' ELSE 'awaiting_second_review' END"""
_RANK = "CASE WHEN by_rank < 0.002 THEN 0 WHEN by_rank < 0.03 THEN 1 WHEN by_rank < 0.15 THEN 2 ELSE 3 END"
_PLACED = "CASE WHEN is_open THEN open_placed ELSE closed_placed END"
_SCORED = "(NOT is_open OR by_state >= 0.40)"
_IDENTITY = "is_open AND by_flag BETWEEN 0.200 AND 0.205"
_ATTENTION = f"""CASE WHEN is_open AND by_flag < 0.01 THEN 'result.item-failed'
    WHEN {_IDENTITY} THEN 'identity.mismatch' ELSE '' END"""
# What came of the tube: rejected for a few that are open, expected for a fifth of those that are open.
_TUBE = "CASE WHEN is_open AND by_tube < 0.01 THEN 'rejected' WHEN is_open AND by_tube < 0.2 THEN 'expected' ELSE 'received' END"


def build(superuser: str, laboratory: Laboratory, *, orders: int = ORDERS) -> None:
    """Everything, from one order that was placed and held like any other."""
    from orders import urgency

    laboratory.offer("bench", window=64)
    placed = laboratory.place(laboratory.ready(laboratory.variants("bench", 1, 5)), "routine")
    urgency.hold(order=placed, reason="hold.specimen", actor=laboratory.actor)
    urgency.release(order=placed, actor=laboratory.actor)
    placed.refresh_from_db()
    with copied.unhindered(superuser, TABLES) as connection:
        connection.execute("SELECT setseed(0.26)")
        connection.execute(_DRAWN.format(orders=orders))  # type: ignore[arg-type] -- our own words
        many_people.build(connection, laboratory, placed)
        _orders(connection, placed)
        _specimens(connection, placed)
        _around(connection, placed)
        _runs(connection, placed)


def _orders(connection: Connection, placed: Any) -> None:
    parties = {
        "ordering_organisation_id": f"CASE WHEN own THEN {LABORATORY} ELSE {HOSPITAL} END",
        "performing_laboratory_id": LABORATORY,
    }
    test = "md5('version' || lab || '.' || test)::uuid"
    copied.copy(connection, placed.intake, "drawn", {"id": "drawn.id", "item_set_id": "NULL", "test_version_id": test, **parties})
    changed = {
        "id": "drawn.id", "accession": f"to_char({_PLACED}, '\"A\"YY') || '-' || 100000 + n", **parties,
        "patient_id": PATIENT, "stated_mrn": many_people.RECORD_NUMBER, "specimen_id": "drawn.id",
        "placer_number": "'P-' || lpad(n::text, 6, '0')", "placer_system": "'urn:example:placer'",
        "test_version_id": test, "intake_id": "drawn.id", "state": _STATE, "rank": _RANK,
        "priority": f"(ARRAY['stat', 'asap', 'urgent', 'routine'])[{_RANK} + 1]",
        "stat_reason": f"CASE WHEN {_RANK} = 0 THEN 'sepsis' ELSE '' END",
        "attention": _ATTENTION,
        "hold_reason": "CASE WHEN is_open AND by_flag > 0.99 THEN 'hold.specimen' ELSE '' END", "hold_agreed": "by_flag > 0.99",
        "clock_stopped_at": f"CASE WHEN is_open AND by_flag > 0.99 THEN {_PLACED} + interval '1 hour' END",
        "assignee_id": f"CASE WHEN by_person < 0.6 THEN {PERSON} END",
        "placed_by_id": f"CASE WHEN own THEN {PERSON} ELSE {REQUESTER} END",
        "placed_at": _PLACED, "accepted_at": f"CASE WHEN {_STATE} <> 'submitted' THEN {_PLACED} END",
        "started_at": f"CASE WHEN {_SCORED} THEN {_PLACED} + interval '1 hour' END",
        "scored_at": f"CASE WHEN {_SCORED} THEN {_PLACED} + interval '2 hours' END",
        "ended_at": f"CASE WHEN NOT is_open THEN {_PLACED} + interval '1 day' END",
        "result_due": f"CASE WHEN {_STATE} <> 'submitted' THEN {_PLACED} + due_after END",
        "report_due": f"CASE WHEN {_STATE} <> 'submitted' THEN {_PLACED} + due_after + interval '1 day' END",
        "risk": f"CASE WHEN is_open AND NOT {_SCORED} AND by_flag BETWEEN 0.4 AND 0.45 THEN 'at_risk' ELSE '' END",
    }  # fmt: skip
    copied.copy(connection, placed, "drawn", changed)


def _specimens(connection: Connection, placed: Any) -> None:
    came = f"{_TUBE} = 'received'"
    changed = {
        "id": "drawn.id", "patient_id": PATIENT, "organisation_id": f"CASE WHEN own THEN {LABORATORY} ELSE {HOSPITAL} END",
        "identifier": "'S-' || lpad(n::text, 6, '0')", "state": _TUBE, "collected_at": f"{_PLACED} - interval '6 hours'",
        "received_at": f"CASE WHEN {came} THEN {_PLACED} + by_tube * interval '4 hours' END",
        "condition": f"CASE WHEN {came} THEN 'acceptable' ELSE '' END", "received_by_id": f"CASE WHEN {came} THEN {PERSON} END",
        "rejected_reason": f"CASE WHEN {_TUBE} = 'rejected' THEN 'specimen.leaked' ELSE '' END",
        "rejected_at": f"CASE WHEN {_TUBE} = 'rejected' THEN {_PLACED} + by_tube * interval '4 hours' END",
        "rejected_by_id": f"CASE WHEN {_TUBE} = 'rejected' THEN {PERSON} END",
    }  # fmt: skip
    copied.copy(connection, placed.specimen, "drawn", changed)


def _around(connection: Connection, placed: Any) -> None:
    """Holds of every fiftieth order, identity checks, and events of the trail."""
    from audit.models import Event
    from orders.models import Hold

    owner = {"organisation_id": LABORATORY}
    hold = Hold.objects.get(order=placed)
    moments = {"since": f"{_PLACED} + interval '1 hour'", "until": f"{_PLACED} + interval '90 minutes'"}
    identity = {"id": "nextval('orders_hold_id_seq')", "order_id": "drawn.id"}
    copied.copy(connection, hold, "(SELECT * FROM drawn WHERE n % 50 = 0) AS drawn", {**identity, **moments, **owner})
    connection.execute(f"""
        INSERT INTO orders_identitycheck
            (ordering_organisation_id, performing_laboratory_id, order_id, known_id, state, version, opened_at, decision, words)
        SELECT CASE WHEN own THEN {LABORATORY} ELSE {HOSPITAL} END, {LABORATORY}, id, {PATIENT}, 'open', 1, open_placed, '', ''
        FROM drawn WHERE {_IDENTITY}
    """)  # type: ignore[arg-type]  # noqa: S608 -- our own words
    event = Event.objects.filter(object_type="orders.order", object_id=str(placed.pk)).earliest("id")
    actions = "(ARRAY['order.placed', 'state.accepted', 'order.viewed', 'state.awaiting_review'])[k + 1]"
    source = f"drawn, generate_series(0, {EVENTS - 1}) AS k"
    identity = {"id": "nextval('audit_event_id_seq')", "object_id": "drawn.id::text", "action": actions}
    acting = {"actor_id": PERSON, "actor_name": "'Person ' || lab || '.' || person", "at": f"{_PLACED} + k * interval '1 hour'"}
    copied.copy(connection, event, source, {**identity, **acting, **owner})


def _runs(connection: Connection, placed: Any) -> None:
    """Of open orders that are not scored: what the line of the engine is made of."""
    from engine_queue.models import Job, Run

    waiting = "(SELECT * FROM drawn WHERE is_open AND by_state BETWEEN 0.02 AND 0.40) AS waiting"
    run = Run.objects.get(order_id=placed.pk)
    due = "open_placed + due_after"
    owner = {"organisation_id": LABORATORY}
    copied.copy(connection, run, waiting, {"id": "waiting.id", "order_id": "waiting.id", "rank": _RANK, "due_at": due, **owner})
    job = Job.objects.filter(run=run).earliest("id")
    identity = {"id": "nextval('engine_queue_job_id_seq')", "run_id": "waiting.id"}
    copied.copy(connection, job, waiting, {**identity, "rank": _RANK, "due_at": due, **owner})
