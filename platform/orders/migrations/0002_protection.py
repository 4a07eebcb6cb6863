"""State machines in the database; what an accepted order rests on cannot be exchanged; runs point at real orders."""

from django.db import migrations

from orders.machines import INTAKE, ORDER

IMMUTABLE = """
    CREATE FUNCTION orders_order_pinned() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.state NOT IN ('draft', 'submitted') AND (
            OLD.patient_id, OLD.specimen_id, OLD.test_version_id, OLD.intake_id, OLD.ordering_organisation_id,
            OLD.performing_laboratory_id, OLD.accession, OLD.items_total
        ) IS DISTINCT FROM (
            NEW.patient_id, NEW.specimen_id, NEW.test_version_id, NEW.intake_id, NEW.ordering_organisation_id,
            NEW.performing_laboratory_id, NEW.accession, NEW.items_total
        ) THEN
            RAISE EXCEPTION 'an accepted order keeps its patient, specimen, test and inputs' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_order_pinned BEFORE UPDATE ON orders_order FOR EACH ROW EXECUTE FUNCTION orders_order_pinned();
"""
UNDO_IMMUTABLE = "DROP TRIGGER orders_order_pinned ON orders_order; DROP FUNCTION orders_order_pinned();"

LINK = """
    ALTER TABLE engine_queue_run ADD CONSTRAINT run_of_order FOREIGN KEY (order_id) REFERENCES orders_order (id)
        DEFERRABLE INITIALLY DEFERRED;
    REVOKE DELETE ON orders_order, orders_patient, orders_specimen FROM helicase_app;
"""
UNDO_LINK = """
    ALTER TABLE engine_queue_run DROP CONSTRAINT run_of_order;
    GRANT DELETE ON orders_order, orders_patient, orders_specimen TO helicase_app;
"""


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial"), ("engine_queue", "0002_protection")]
    operations = [
        migrations.RunSQL(*ORDER.trigger()),
        migrations.RunSQL(*INTAKE.trigger()),
        migrations.RunSQL(IMMUTABLE, UNDO_IMMUTABLE),
        migrations.RunSQL(LINK, UNDO_LINK),
    ]
