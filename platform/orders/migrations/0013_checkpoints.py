"""Checks of uploads that go on where they were, and uploads that are removed before their check has ended."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from foundation.machine import Machine
from orders.machines import INTAKE

BEFORE = Machine(
    table=INTAKE.table,
    initial=INTAKE.initial,
    edges={"waiting": frozenset({"checking"}), "checking": frozenset({"ready", "refused", "waiting"})},
)


class Migration(migrations.Migration):
    dependencies = [("orders", "0012_pages")]
    operations = [
        migrations.RunSQL(BEFORE.trigger()[1], BEFORE.trigger()[0]),
        migrations.RunSQL(*INTAKE.trigger()),
        migrations.CreateModel(
            "IntakeCheckpoint",
            [
                (
                    "intake",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="checkpoint",
                        serialize=False,
                        to="orders.intake",
                    ),
                ),
                ("organisation_id", models.UUIDField()),
                ("state", models.BinaryField()),
                ("staged", models.JSONField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.AddIndex(
            "intake",
            models.Index(condition=Q(state__in=["waiting", "checking"]), fields=["claimed_at"], name="intake_unchecked"),
        ),
        migrations.AddIndex(
            "intake",
            models.Index(condition=Q(item_set__isnull=False, state="withdrawn"), fields=["item_set"], name="intake_to_clear"),
        ),
    ]
