"""An order may replace another one, once; and what was stated of its patient is kept, whatever is decided later."""

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import pinned

# Of orders placed before: the record says what was stated, letter for letter but for outer white space.
STATED = """
    UPDATE orders_order AS o SET stated = jsonb_build_object(
        'mrn', o.stated_mrn, 'mrn_system', '', 'family_name', p.family_name, 'given_name', p.given_name,
        'birth_date', p.birth_date::text, 'sex', p.sex)
    FROM orders_patient AS p WHERE p.id = o.patient_id
"""


class Migration(migrations.Migration):
    dependencies = [("orders", "0015_worklist")]
    operations = [
        migrations.AddField("order", "stated", models.JSONField(db_default={}, default=dict)),
        migrations.AddField(
            "order",
            "replaces",
            models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="replaced_by", to="orders.order"
            ),
        ),
        migrations.RunSQL(STATED, migrations.RunSQL.noop),
        migrations.RunSQL(*pinned("orders_order", "stated stated_mrn replaces_id", name="as_placed")),
    ]
