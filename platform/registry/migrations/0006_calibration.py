"""Calibration tables, written once."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import insert_only


class Migration(migrations.Migration):
    dependencies = [("registry", "0005_annotations")]
    operations = [
        migrations.CreateModel(
            name="CalibrationTable",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("protocol", models.JSONField()),
                ("protocol_sha256", models.CharField(max_length=64)),
                ("precision", models.CharField(max_length=20)),
                ("rows", models.JSONField()),
                ("sha256", models.CharField(max_length=64)),
                ("source", models.TextField()),
                ("created_at", models.DateTimeField()),
                (
                    "model_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="calibrations", to="registry.modelversion"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("model_version", "protocol_sha256", "precision"), name="one_calibration_per_pin"
                    )
                ],
            },
        ),
        migrations.RunSQL(*insert_only("registry_calibrationtable")),
    ]
