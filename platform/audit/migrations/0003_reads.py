"""From where an event came, and when somebody last looked at something."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_protection")]
    operations = [
        migrations.AddField("event", "origin", models.CharField(blank=True, db_default="", max_length=80)),
        migrations.CreateModel(
            "LastRead",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("actor_id", models.UUIDField()),
                ("action", models.CharField(max_length=60)),
                ("object_type", models.CharField(max_length=60)),
                ("object_id", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("actor_id", "action", "object_type", "object_id"), name="one_last_read")
                ],
            },
        ),
    ]
