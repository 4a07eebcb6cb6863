"""Common variants of a region as a run scored them: asked for, filled once, and kept."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import changeable, kept, pinned

TABLE = "reports_background"
FILLED = "fingerprint deltas failed sha256 made_at"


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0006_reported_with_a_report"),
        ("registry", "0013_frequencies"),
        ("engine_queue", "0010_runs_beside_orders"),
    ]
    operations = [
        migrations.CreateModel(
            name="Background",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("asked_by", models.CharField(max_length=200)),
                ("asked_at", models.DateTimeField()),
                ("fingerprint", models.CharField(blank=True, default="", max_length=64)),
                ("deltas", models.JSONField(default=list)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("made_at", models.DateTimeField(null=True)),
                (
                    "frequencies",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="backgrounds", to="registry.frequencies"
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="background", to="engine_queue.run"
                    ),
                ),
            ],
        ),
        migrations.RunSQL(*pinned(TABLE, "id organisation_id frequencies_id run_id asked_by asked_at")),
        migrations.RunSQL(*pinned(TABLE, FILLED, when="OLD.sha256 <> ''", name="filled")),
        migrations.RunSQL(*changeable(TABLE, FILLED)),
        migrations.RunSQL(*kept(TABLE)),
    ]
