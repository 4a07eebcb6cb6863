"""What the code refuses of deliveries and critical calls, Postgres refuses: attempts stay, and only a call that was read back closes one."""

from django.db import migrations

from foundation.protection import changeable, insert_only, pinned
from reports.machines import CRITICAL, DELIVERY

MADE = """
    CREATE FUNCTION reports_delivery_made() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NOT EXISTS (
            SELECT 1 FROM reports_reportversion v JOIN reports_recipient r ON r.id = NEW.recipient_id AND r.order_id = v.order_id
            JOIN orders_order o ON o.id = v.order_id
            WHERE v.id = NEW.report_version_id AND v.order_id = NEW.order_id AND v.released_at IS NOT NULL
                AND v.performing_laboratory_id = NEW.organisation_id AND (NEW.news = 'recalled') = (o.state IN ('entered_in_error', 'cancelled'))
        ) THEN
            RAISE EXCEPTION 'what is delivered was issued, to a recipient of its order' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER reports_delivery_made BEFORE INSERT ON reports_reportdelivery FOR EACH ROW EXECUTE FUNCTION reports_delivery_made();
"""
CLOSED = """
    CREATE FUNCTION reports_critical_closed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.state = 'read_back' AND NOT EXISTS (
            SELECT 1 FROM reports_criticalcall c WHERE c.critical_id = NEW.id AND c.outcome = 'read_back'
        ) THEN
            RAISE EXCEPTION 'only a call that was read back closes a critical result' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER reports_critical_closed BEFORE INSERT OR UPDATE ON reports_critical
        FOR EACH ROW EXECUTE FUNCTION reports_critical_closed();
"""


def undo(table: str, name: str) -> str:
    return f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();"


class Migration(migrations.Migration):
    dependencies = [("reports", "0009_deliveries"), ("audit", "0004_reads_stay")]
    operations = [
        migrations.RunSQL(*DELIVERY.trigger()),
        migrations.RunSQL(*CRITICAL.trigger()),
        migrations.RunSQL(*insert_only("reports_deliverynote")),
        migrations.RunSQL(*insert_only("reports_criticalcall")),
        migrations.RunSQL(*insert_only("reports_criticallevel")),
        migrations.RunSQL(*changeable("reports_recipient", "ended_by_id ended_at")),
        migrations.RunSQL(
            *changeable(
                "reports_reportdelivery",
                "state version channels turn last_error sent_at opened_at opened_by_id acknowledged_at acknowledged_by_id",
            )
        ),
        migrations.RunSQL(
            *pinned("reports_reportdelivery", "opened_at opened_by_id", when="OLD.opened_at IS NOT NULL", name="opened")
        ),
        migrations.RunSQL(*pinned("reports_reportdelivery", "acknowledged_at acknowledged_by_id", when="OLD.acknowledged_at IS NOT NULL")),
        migrations.RunSQL(*changeable("reports_critical", "state version closed_at")),
        migrations.RunSQL(*pinned("reports_critical", "closed_at", when="OLD.closed_at IS NOT NULL")),
        migrations.RunSQL(MADE, undo("reports_reportdelivery", "reports_delivery_made")),
        migrations.RunSQL(CLOSED, undo("reports_critical", "reports_critical_closed")),
    ]
