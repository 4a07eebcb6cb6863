"""Annotations, and the one that a test version names."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import kept, pinned


class Migration(migrations.Migration):
    dependencies = [("registry", "0004_markov_tables")]
    operations = [
        migrations.CreateModel(
            name="Annotation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=80, unique=True)),
                ("digest", models.CharField(max_length=64)),
                ("path", models.CharField(max_length=200)),
                ("codes", models.JSONField()),
                ("facts", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "reference",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="annotations", to="registry.reference"
                    ),
                ),
            ],
        ),
        migrations.RunSQL(*pinned("registry_annotation", "name reference_id digest codes facts")),
        migrations.RunSQL(*kept("registry_annotation")),
        migrations.AddField(
            "testversion",
            "annotation",
            models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to="registry.annotation"),
        ),
        migrations.RunSQL(*pinned("registry_testversion", "annotation_id", name="annotation_pinned")),
    ]
