"""What a deletion rests on does not depend on the session that asks for it, nor on times that the application wrote alone.

A period is counted in hours, so that no time zone of a session shortens it. A deletion looks at what stands now: not through an older
snapshot, and not beside a hold or a period that is being written. An end that lies before the beginning is none.
"""

from django.db import migrations

HELPERS = (
    "retention_begin()", "retention_end(text, text, uuid, jsonb)", "retention_runs(uuid[])", "retention_sets(uuid[])",
    "retention_files(uuid[])", "retention_intakes(uuid[])",
)  # fmt: skip
ALONE = """
    CREATE FUNCTION retention_alone() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'a deletion looks at what stands now: it is asked for at READ COMMITTED'
                USING ERRCODE = 'invalid_transaction_state';
        END IF;
        LOCK TABLE oversight_legalhold, oversight_retentionrule IN SHARE MODE;  -- waits for those that are being written
    END $$;
    REVOKE EXECUTE ON FUNCTION retention_alone() FROM PUBLIC, helicase_app;
"""
NOT_ALONE = "DROP FUNCTION retention_alone();"
CLOSED = f"REVOKE EXECUTE ON FUNCTION {', '.join(HELPERS)} FROM helicase_app;"
OPEN = f"GRANT EXECUTE ON FUNCTION {', '.join(HELPERS)} TO helicase_app;"
RULE = "organisation_id, record_class, days, words, set_by_id, set_at"
COUNTED = f"REVOKE INSERT ON oversight_retentionrule FROM helicase_app; GRANT INSERT ({RULE}) ON oversight_retentionrule TO helicase_app;"
NOT_COUNTED = "GRANT INSERT ON oversight_retentionrule TO helicase_app;"


def said_otherwise(function, before, after):
    """SQL that says one thing of a function otherwise, and the SQL that takes it back; each fails where it does not find it."""

    def change(old, new):
        return f"""
            DO $do$ DECLARE body text := pg_get_functiondef('{function}'::regprocedure); BEGIN
                IF position($old${old}$old$ IN body) = 0 THEN RAISE EXCEPTION '{function} says something else'; END IF;
                EXECUTE replace(body, $old${old}$old$, $new${new}$new$);
            END $do$;
        """

    return change(before, after), change(after, before)


def alone(name):
    row = {"order": "o", "question": "q", "upload": "i", "draft": "d", "notice": "n"}[name]
    taken = f"BEGIN\n        SELECT * INTO {row} FROM"
    return said_otherwise(f"retention_delete_{name}(uuid)", taken, taken.replace("BEGIN", "BEGIN\n        PERFORM retention_alone();"))


class Migration(migrations.Migration):
    dependencies = [("oversight", "0003_numbers")]
    operations = [
        migrations.RunSQL(ALONE, NOT_ALONE),
        migrations.RunSQL(CLOSED, OPEN),
        migrations.RunSQL(COUNTED, NOT_COUNTED),
        *(migrations.RunSQL(*alone(name)) for name in ("order", "question", "upload", "draft", "notice")),
        migrations.RunSQL(
            *said_otherwise(
                "retention_over(uuid, text, timestamptz)",
                "make_interval(days => retention_days(place, class))",
                "make_interval(hours => 24 * retention_days(place, class))",
            )
        ),
        migrations.RunSQL(
            *said_otherwise(
                "retention_since(orders_order)",
                "GREATEST(COALESCE(o.ended_at, o.placed_at), (SELECT",
                "GREATEST(o.placed_at, o.accepted_at, o.ended_at, (SELECT",
            )
        ),
        migrations.RunSQL(
            *said_otherwise(
                "retention_blocks(orders_order)",
                "engine_queue_run WHERE order_id = o.id AND state",
                "engine_queue_run WHERE (order_id = o.id OR id IN (SELECT run_id FROM reports_track WHERE order_id = o.id)) AND state",
            )
        ),
        migrations.RunSQL(
            *said_otherwise(
                "retention_blocks(orders_order)",
                "CASE WHEN EXISTS (SELECT 1 FROM reports_reportversion WHERE",
                "CASE WHEN o.state = 'reported' AND EXISTS (SELECT 1 FROM reports_reportversion WHERE",
            )
        ),
        migrations.RunSQL(
            *said_otherwise(
                "retention_delete_question(uuid)",
                "NOT retention_over(q.organisation_id, 'questions', q.ended_at)",
                "q.ended_at IS NULL OR NOT retention_over(q.organisation_id, 'questions', GREATEST(q.asked_at, q.ended_at))",
            )
        ),
        migrations.RunSQL(
            *said_otherwise(
                "retention_delete_draft(uuid)",
                "NOT retention_over(d.organisation_id, 'drafts', d.ended_at)",
                "NOT retention_over(d.organisation_id, 'drafts', GREATEST(d.created_at, d.ended_at))",
            )
        ),
        migrations.RunSQL(
            *said_otherwise(
                "retention_delete_draft(uuid)",
                "retention_held(d.organisation_id, d.order_id, NULL, d.created_at)",
                "retention_held(d.organisation_id, d.order_id, (SELECT patient_id FROM orders_order WHERE id = d.order_id), d.created_at)",
            )
        ),
    ]
