"""Checks of the audit chain are kept: what one found is not changed, and none is taken away."""

import uuid

from django.db import migrations, models

from foundation.protection import changeable, kept, pinned
from oversight.machines import CHECK

WRITTEN = "state version started_at seen_at ended_at done whole said seen mark"


class Migration(migrations.Migration):
    initial = True
    dependencies = [("audit", "0005_sealing")]
    operations = [
        migrations.CreateModel(
            "Check",
            [
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("asked_by", models.UUIDField(null=True)),
                ("asked_by_name", models.CharField(max_length=200)),
                ("state", models.CharField(default="waiting", max_length=10)),
                ("version", models.PositiveIntegerField(default=1)),
                ("asked_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("done", models.BigIntegerField(default=0)),
                ("whole", models.BigIntegerField(default=0)),
                ("said", models.CharField(blank=True, default="", max_length=300)),
                ("seen", models.JSONField(default=dict)),
                ("mark", models.CharField(blank=True, default="", max_length=64)),
            ],
            options={
                "indexes": [models.Index(fields=["-asked_at"], name="check_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ended_at", None), ("state__in", ("waiting", "running")))
                        | models.Q(("ended_at__isnull", False), ("state__in", ("good", "incomplete", "broken", "failed"))),
                        name="check_ended_with_time",
                    )
                ],
            },
        ),
        migrations.RunSQL(*CHECK.trigger()),
        migrations.RunSQL(*changeable("oversight_check", WRITTEN)),
        migrations.RunSQL(*pinned("oversight_check", f"{WRITTEN} asked_by asked_by_name asked_at", when="OLD.ended_at IS NOT NULL")),
        migrations.RunSQL(*kept("oversight_check")),
    ]
