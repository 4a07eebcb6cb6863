"""An order is reported by a report that is issued, and only a STAT order has a preliminary one."""

from importlib import import_module

from django.db import migrations

signing = import_module("reports.migrations.0005_signing_protection")
TABLE = signing.TABLE
ONLY_STAT = """IF NEW.kind = 'preliminary' AND NOT EXISTS (
            SELECT 1 FROM orders_order o WHERE o.id = NEW.order_id AND o.priority = 'stat') THEN
            RAISE EXCEPTION 'a preliminary report is of a STAT order' USING ERRCODE = 'check_violation';
        END IF;
        """
AT_MADE, AT_ISSUED = "IF NEW.kind = 'unsigned' THEN RETURN NEW; END IF;", "IF NEW.kind = 'unsigned' OR EXISTS ("


def function(text: str, before: str = "") -> str:
    """The function alone, its trigger stays; with the rule in front of one of its own."""
    body = text[: text.index("CREATE TRIGGER")].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    if before and body.count(before) != 1:
        raise ValueError("the rules of 0005 are not the ones that this migration widens")
    return body.replace(before, ONLY_STAT + before) if before else body


# Its name makes it fire behind the trigger of the machine, which says first what is no move at all.
REPORTED = f"""
    CREATE FUNCTION orders_order_with_a_report() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NOT EXISTS (
            SELECT 1 FROM {TABLE} v WHERE v.order_id = NEW.id AND v.state = 'released' AND v.released_at IS NOT NULL
                AND v.kind NOT IN ('unsigned', 'preliminary')
        ) THEN
            RAISE EXCEPTION 'no report of this order is issued' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_order_with_a_report BEFORE UPDATE ON orders_order
        FOR EACH ROW WHEN (NEW.state = 'reported' AND OLD.state <> 'reported') EXECUTE FUNCTION orders_order_with_a_report();
"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0005_signing_protection"), ("orders", "0026_labels")]
    operations = [
        migrations.RunSQL(function(signing.MADE, AT_MADE), function(signing.MADE)),
        migrations.RunSQL(function(signing.ISSUED, AT_ISSUED), function(signing.ISSUED)),
        migrations.RunSQL(REPORTED, signing.undo("orders_order", "orders_order_with_a_report")),
    ]
