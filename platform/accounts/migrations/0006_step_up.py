"""Re-authentication for one deed: kept for ever, changed only by being used, and used once."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from foundation.protection import changeable, kept, pinned


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_people_stay")]
    operations = [
        migrations.CreateModel(
            name="StepUp",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("object_type", models.CharField(max_length=60)),
                ("object_id", models.CharField(max_length=64)),
                ("content_sha256", models.CharField(max_length=64)),
                ("method", models.CharField(max_length=40)),
                ("at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.RunSQL(*changeable("accounts_stepup", "used_at")),
        migrations.RunSQL(*pinned("accounts_stepup", "used_at", when="OLD.used_at IS NOT NULL", name="used_once")),
        migrations.RunSQL(
            *pinned("accounts_stepup", "id organisation_id user_id object_type object_id content_sha256 method at", name="row_pinned")
        ),
        migrations.RunSQL(*kept("accounts_stepup")),
    ]
