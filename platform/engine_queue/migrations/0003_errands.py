"""Errands of workers; what has ended stays as it ended."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from foundation.protection import kept, pinned


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0002_protection"), ("registry", "0004_markov_tables")]
    operations = [
        migrations.CreateModel(
            name="Errand",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("worker", models.CharField(max_length=80)),
                ("verb", models.CharField(max_length=10)),
                ("drain_seconds", models.FloatField(default=0)),
                ("state", models.CharField(default="asked", max_length=10)),
                ("asked_by", models.CharField(max_length=120)),
                ("asked_at", models.DateTimeField()),
                ("taken_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("said", models.TextField(blank=True)),
                ("measured", models.JSONField(default=dict)),
                ("deployment", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="registry.deployment")),
            ],
            options={
                "indexes": [
                    models.Index(condition=Q(state__in=["asked", "taken"]), fields=["worker", "id"], name="errand_open")
                ],
                "constraints": [
                    models.CheckConstraint(condition=Q(verb__in=["load", "unload"]), name="errand_verb_known"),
                    models.CheckConstraint(condition=Q(state__in=["asked", "taken", "done", "refused"]), name="errand_state_known"),
                ],
            },
        ),
        migrations.RunSQL(
            *pinned(
                "engine_queue_errand",
                "worker verb deployment_id drain_seconds state asked_by asked_at taken_at ended_at said measured",
                when="OLD.ended_at IS NOT NULL",
            )
        ),
        migrations.RunSQL(*kept("engine_queue_errand")),
    ]
