"""Days of streams, which stay as they were made, how far each was followed, and calls of people."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models

from drift.machines import CALL
from foundation.protection import changeable, insert_only, kept, pinned


WRITTEN = "state version seen_by seen_at closed_by closed_at closed_after words"


class Migration(migrations.Migration):
    dependencies = [
        ("drift", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Following",
            fields=[
                (
                    "reference",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="following",
                        serialize=False,
                        to="drift.frozenreference",
                    ),
                ),
                ("organisation_id", models.UUIDField()),
                ("day", models.DateField()),
                ("stream", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Window",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("day", models.DateField()),
                ("n", models.PositiveBigIntegerField()),
                ("mean", models.FloatField()),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("counts", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ("hours", models.PositiveSmallIntegerField()),
                ("missing", models.PositiveIntegerField()),
                ("light", models.CharField(max_length=10)),
                ("distance", models.FloatField()),
                ("merged", models.FloatField()),
                ("gate", models.FloatField()),
                ("plain", models.FloatField()),
                ("whitened", models.FloatField()),
                ("limit", models.FloatField()),
                ("psi", models.FloatField(null=True)),
                ("psi_chance", models.FloatField(null=True)),
                ("wasserstein", models.FloatField(null=True)),
                ("jensen_shannon", models.FloatField(null=True)),
                ("code", models.CharField(max_length=64)),
                ("made_at", models.DateTimeField()),
                (
                    "reference",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="windows", to="drift.frozenreference"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Call",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("state", models.CharField(default="open", max_length=12)),
                ("version", models.PositiveIntegerField(default=1)),
                ("opened_at", models.DateTimeField()),
                ("seen_by", models.CharField(blank=True, max_length=200)),
                ("seen_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, max_length=200)),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_after", models.DateField(null=True)),
                ("words", models.CharField(blank=True, max_length=500)),
                (
                    "reference",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="calls", to="drift.frozenreference"
                    ),
                ),
                ("window", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="drift.window")),
            ],
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.UniqueConstraint(fields=("reference", "day"), name="one_window_per_day"),
        ),
        migrations.AddConstraint(
            model_name="call",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "closed"), _negated=True), fields=("reference",), name="one_open_call"
            ),
        ),
        migrations.AddConstraint(
            model_name="call",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "closed"), _negated=True),
                    models.Q(
                        ("closed_after__isnull", False), ("closed_at__isnull", False), models.Q(("words", ""), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="call_closed_with_reason",
            ),
        ),
        migrations.RunSQL(*insert_only("drift_window")),
        migrations.RunSQL(*changeable("drift_following", "day stream")),
        migrations.RunSQL(*CALL.trigger()),
        migrations.RunSQL(*changeable("drift_call", WRITTEN)),
        migrations.RunSQL(*pinned("drift_call", WRITTEN, when="OLD.state = 'closed'")),
        migrations.RunSQL(*kept("drift_call")),
    ]
