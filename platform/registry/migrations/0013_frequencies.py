"""Common variants of a region, written once."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import insert_only


class Migration(migrations.Migration):
    dependencies = [("registry", "0012_validation_records")]
    operations = [
        migrations.CreateModel(
            name="Frequencies",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=80, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("contig", models.CharField(max_length=255)),
                ("start", models.PositiveBigIntegerField()),
                ("end", models.PositiveBigIntegerField()),
                ("minimum", models.FloatField()),
                ("rows", models.JSONField()),
                ("sha256", models.CharField(max_length=64)),
                ("source", models.TextField()),
                ("facts", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "reference",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="frequencies", to="registry.reference"
                    ),
                ),
            ],
        ),
        migrations.RunSQL(*insert_only("registry_frequencies")),
    ]
