"""Saved filters of the worklist, and the one that it opens with."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Lower

KEPT = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+"}
USER, ORGANISATION = settings.AUTH_USER_MODEL, "accounts.organisation"


class Migration(migrations.Migration):
    initial = True
    dependencies = [("accounts", "0001_initial")]
    operations = [
        migrations.CreateModel(
            "SavedFilter",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=1000)),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("organisation", models.ForeignKey(to=ORGANISATION, **KEPT)),
                ("owner", models.ForeignKey(to=USER, **KEPT)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        Lower("name"), F("owner"), condition=Q(shared=False), name="one_personal_filter_per_name"
                    ),
                    models.UniqueConstraint(
                        Lower("name"), F("organisation"), condition=Q(shared=True), name="one_shared_filter_per_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            "OpeningFilter",
            [
                ("user", models.OneToOneField(primary_key=True, serialize=False, to=USER, **KEPT)),
                (
                    "filter",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="openings", to="dashboard.savedfilter"
                    ),
                ),
            ],
        ),
    ]
