"""A report version's content never changes, and once it is released nothing but its state does."""

from django.db import migrations

from reports.machines import REPORT

FROZEN = """
    CREATE FUNCTION reports_reportversion_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF (OLD.content, OLD.content_sha256, OLD.run_id, OLD.order_id, OLD.number, OLD.kind)
            IS DISTINCT FROM (NEW.content, NEW.content_sha256, NEW.run_id, NEW.order_id, NEW.number, NEW.kind) THEN
            RAISE EXCEPTION 'the content of a report version is never changed' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER reports_reportversion_frozen BEFORE UPDATE ON reports_reportversion
        FOR EACH ROW EXECUTE FUNCTION reports_reportversion_frozen();
    REVOKE DELETE, TRUNCATE ON reports_reportversion FROM helicase_app;
"""
UNDO_FROZEN = """
    DROP TRIGGER reports_reportversion_frozen ON reports_reportversion; DROP FUNCTION reports_reportversion_frozen();
    GRANT DELETE ON reports_reportversion TO helicase_app;
"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0001_initial")]
    operations = [migrations.RunSQL(*REPORT.trigger()), migrations.RunSQL(FROZEN, UNDO_FROZEN)]
