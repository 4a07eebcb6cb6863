"""A model version holds the digests of every file that may change a result, and its card; inspections keep what a machine found."""

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import insert_only, pinned


class Migration(migrations.Migration):
    dependencies = [("registry", "0002_protection")]
    operations = [
        migrations.AddField("modelversion", "digest", models.CharField(blank=True, default="", max_length=64), preserve_default=False),
        migrations.AddField("modelversion", "files", models.JSONField(default=list)),
        migrations.AddField("modelversion", "card", models.TextField(blank=True, default=""), preserve_default=False),
        migrations.AddField("modelversion", "card_sha256", models.CharField(blank=True, default="", max_length=64), preserve_default=False),
        migrations.AddConstraint(
            "modelversion",
            models.UniqueConstraint(condition=~models.Q(digest=""), fields=("digest",), name="one_version_per_bytes"),
        ),
        migrations.RunSQL(
            *pinned("registry_modelversion", "digest files card card_sha256", when="OLD.digest <> ''", name="bytes_pinned")
        ),
        migrations.CreateModel(
            name="Inspection",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("fingerprint", models.CharField(max_length=64)),
                ("golden", models.CharField(max_length=64)),
                ("found", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "model_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="inspections", to="registry.modelversion"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("model_version", "fingerprint", "golden"), name="one_inspection_per_bits")
                ],
            },
        ),
        migrations.RunSQL(*insert_only("registry_inspection")),
    ]
