"""State machines in the database; what an accepted order rests on cannot be exchanged; runs point at real orders."""

from django.db import migrations

from foundation.protection import kept, pinned
from orders.machines import INTAKE, ORDER

ORDER_PINS = (
    "patient_id stated_mrn specimen_id test_version_id intake_id ordering_organisation_id performing_laboratory_id accession "
    "items_total content_hash placer_system placer_number placed_by_id placed_at"
)
INTAKE_PINS = "test_version_id reference_digest file_id filename sample kind samples records counts problems facts item_set_id"
ORDERED = "EXISTS (SELECT 1 FROM orders_order WHERE intake_id = OLD.{})"
OF_AN_ORDER = "EXISTS (SELECT 1 FROM orders_order WHERE specimen_id = OLD.id AND state NOT IN ('draft', 'submitted'))"

LINK = """
    ALTER TABLE engine_queue_run ADD CONSTRAINT run_of_order FOREIGN KEY (order_id) REFERENCES orders_order (id)
        DEFERRABLE INITIALLY DEFERRED;
    REVOKE DELETE ON orders_order, orders_patient, orders_patientidentifier, orders_specimen FROM helicase_app;
    REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM helicase_app;
"""
UNDO_LINK = """
    ALTER TABLE engine_queue_run DROP CONSTRAINT run_of_order;
    GRANT DELETE ON orders_order, orders_patient, orders_patientidentifier, orders_specimen TO helicase_app;
    GRANT INSERT, UPDATE, DELETE ON django_migrations TO helicase_app;
"""


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial"), ("engine_queue", "0002_protection"), ("registry", "0002_protection")]
    operations = [
        migrations.RunSQL(*ORDER.trigger()),
        migrations.RunSQL(*INTAKE.trigger()),
        migrations.RunSQL(*pinned("orders_order", ORDER_PINS, when="OLD.state NOT IN ('draft', 'submitted')")),
        migrations.RunSQL(*pinned("orders_intake", INTAKE_PINS, when=ORDERED.format("id"))),
        migrations.RunSQL(*kept("orders_intake", when=ORDERED.format("id"))),
        migrations.RunSQL(*pinned("orders_intakerecord", "intake_id line alt_index outcome ref alt item_id", when=ORDERED.format("intake_id"))),
        migrations.RunSQL(*kept("orders_intakerecord", when=ORDERED.format("intake_id"))),
        migrations.RunSQL(*pinned("orders_specimen", "patient_id identifier type source collected_at", when=OF_AN_ORDER)),
        migrations.RunSQL(LINK, UNDO_LINK),
    ]
