"""The times of an order are set once, by the move that makes them; due times change with another promise or the end of a hold; a reason
with what it is the reason of. The rows of a manifest stay, and what was settled of one stays settled; accession numbers count upwards.
"""

from django.db import migrations

from foundation.protection import changeable, kept, pinned

ROWS, COUNTER = "orders_manifestrow", "orders_accessioncounter"
# Nothing that the application does takes away a row of these.
STAY = (
    "orders_manifest, orders_accessioncounter, engine_queue_run, engine_queue_job, engine_queue_errand, engine_queue_sweep, "
    "registry_testdefinition"
)
ACCEPTS = "(OLD.state = 'submitted' AND NEW.state = 'accepted')"
CLOSES = "(OLD.state <> NEW.state AND NEW.state IN ('reported', 'rejected', 'cancelled', 'entered_in_error'))"
OPEN = "OLD.ended_at IS NULL"
ANOTHER_PRIORITY = f"({OPEN} AND OLD.priority <> NEW.priority)"
ANOTHER_PROMISE = f"({ANOTHER_PRIORITY} AND NEW.promise = OLD.promise + 1)"
HELD_OR_RELEASED = f"({OPEN} AND OLD.hold_reason <> NEW.hold_reason AND '' IN (OLD.hold_reason, NEW.hold_reason))"
GOES_ON = (
    f"({HELD_OR_RELEASED} AND OLD.clock_stopped_at IS NOT NULL AND NEW.clock_stopped_at IS NULL"
    " AND NEW.result_due >= OLD.result_due AND NEW.report_due >= OLD.report_due)"
)
NOT_LATER = (
    "(NEW.rank > OLD.rank OR OLD.clock_stopped_at IS NOT NULL"
    " OR (NEW.result_due <= OLD.result_due AND NEW.report_due <= OLD.report_due))"
)
PROMISED = f"(OLD.accepted_at IS NULL OR (NEW.promise = OLD.promise + 1 AND {NOT_LATER}))"
STANDS = "(OLD.accepted_at IS NULL OR (NEW.hold_reason = '') = (NEW.clock_stopped_at IS NULL))"
# Columns, and when they may change: each line is a column list and the only occasions.
RULES = (
    ("accepted_at", ACCEPTS),
    ("started_at", "(OLD.started_at IS NULL AND OLD.state = 'accepted' AND NEW.state = 'in_analysis')"),
    ("scored_at", "(OLD.scored_at IS NULL AND OLD.state = 'in_analysis' AND NEW.state = 'awaiting_review')"),
    ("ended_at cancelled_reason", CLOSES),
    ("priority", f"({ANOTHER_PRIORITY} AND {PROMISED})"),
    ("priority_reason", ANOTHER_PRIORITY),
    ("stat_reason", f"({ANOTHER_PRIORITY} OR ({OPEN} AND OLD.priority = 'stat' AND OLD.stat_reason = ''))"),
    ("promise promised_at calendar_id clock_zone", f"({ACCEPTS} OR {ANOTHER_PROMISE})"),
    ("result_due report_due", f"({ACCEPTS} OR {ANOTHER_PROMISE} OR {GOES_ON})"),
    ("clock_stopped_at", f"({ACCEPTS} OR {ANOTHER_PROMISE} OR {HELD_OR_RELEASED})"),
    ("hold_reason", f"({HELD_OR_RELEASED} AND {STANDS})"),
    ("hold_agreed", f"({HELD_OR_RELEASED} OR ({ANOTHER_PRIORITY} AND NEW.priority = 'stat'))"),
    ("repeats_id conflicts_with_id", "false"),
)
SET_LATER = "accepted_at started_at scored_at ended_at result_due report_due promised_at clock_stopped_at"


def _row(side: str, columns: str) -> str:
    return f"ROW({', '.join(f'{side}.{column}' for column in columns.split())})"


def _check(columns: str, occasion: str) -> str:
    return f"""
            IF {_row("OLD", columns)} IS DISTINCT FROM {_row("NEW", columns)} AND ({occasion}) IS NOT TRUE THEN
                RAISE EXCEPTION 'orders_order: {columns} cannot change so' USING ERRCODE = 'check_violation';
            END IF;"""


TIMES = f"""
    CREATE FUNCTION orders_order_times() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            IF num_nonnulls({", ".join(f"NEW.{column}" for column in SET_LATER.split())}) > 0
                OR NEW.promise <> 1 OR NEW.hold_reason || NEW.cancelled_reason <> '' THEN
                RAISE EXCEPTION 'orders_order begins without a time of a later state' USING ERRCODE = 'check_violation';
            END IF;
        ELSE{"".join(_check(*rule) for rule in RULES)}
            IF NEW.version < OLD.version OR NEW.edits < OLD.edits OR NEW.items_done < OLD.items_done THEN
                RAISE EXCEPTION 'orders_order counts upwards' USING ERRCODE = 'check_violation';
            END IF;
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_order_times BEFORE INSERT OR UPDATE ON orders_order FOR EACH ROW EXECUTE FUNCTION orders_order_times();
"""
UNDO_TIMES = "DROP TRIGGER orders_order_times ON orders_order; DROP FUNCTION orders_order_times();"
HAS_ORDER = "OLD.order_id IS NOT NULL"


class Migration(migrations.Migration):
    dependencies = [("orders", "0021_sites_and_reasons"), ("engine_queue", "0008_worker_process"), ("registry", "0011_signatures")]
    operations = [
        migrations.RunSQL(TIMES, UNDO_TIMES),
        migrations.RunSQL(kept(ROWS, when=HAS_ORDER)[1] + kept(ROWS)[0], kept(ROWS)[1] + kept(ROWS, when=HAS_ORDER)[0]),
        migrations.RunSQL(
            *changeable(ROWS, "state entry file_id intake_id content_hash objections order_id settled_at")
        ),
        migrations.RunSQL(
            *pinned(
                ROWS,
                "state entry file_id intake_id content_hash objections order_id settled_at",
                when="OLD.state NOT IN ('pending', 'valid')",
                name="settled",
            )
        ),
        migrations.RunSQL(*pinned(COUNTER, "year last", when="NEW.year <> OLD.year OR NEW.last < OLD.last", name="upwards")),
        migrations.RunSQL(*kept(COUNTER)),
        migrations.RunSQL(f"REVOKE DELETE, TRUNCATE ON {STAY} FROM helicase_app;", f"GRANT DELETE ON {STAY} TO helicase_app;"),
    ]
