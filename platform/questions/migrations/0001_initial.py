"""Questions about plain sequences."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from foundation.protection import changeable, kept


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        ("accounts", "0001_initial"),
        ("engine_queue", "0009_questions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="Question",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("score", "Score"), ("continue", "Continue"), ("embed", "Embed")], max_length=10)),
                (
                    "priority",
                    models.CharField(
                        choices=[("stat", "STAT"), ("asap", "ASAP"), ("urgent", "Urgent"), ("routine", "Routine")], max_length=10
                    ),
                ),
                ("content_sha256", models.CharField(max_length=64)),
                ("first_name", models.CharField(max_length=80)),
                ("sequences", models.PositiveIntegerField()),
                ("bases", models.PositiveIntegerField()),
                ("asked_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("attention", models.CharField(blank=True, default="", max_length=60)),
                (
                    "asked_by",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "cancelled_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.organisation"),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="question", to="engine_queue.run"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["organisation", "-asked_at", "-id"], name="question_newest"),
                    models.Index(fields=["asked_by", "-asked_at", "-id"], name="question_of_person"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=Q(kind__in=["score", "continue", "embed"]), name="question_kind_known"),
                    models.CheckConstraint(
                        condition=Q(priority__in=["asap", "urgent", "routine"]), name="question_priority_known"
                    ),
                ],
            },
        ),
        migrations.RunSQL(*changeable("questions_question", "ended_at cancelled_by_id attention")),
        migrations.RunSQL(*kept("questions_question")),
    ]
