"""Results that somebody wanted to see base by base."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from foundation.protection import insert_only


def to(model: str, kind: type[models.ForeignKey] = models.ForeignKey, name: str = "+") -> models.ForeignKey:
    return kind(on_delete=django.db.models.deletion.PROTECT, related_name=name, to=model)


class Migration(migrations.Migration):
    dependencies = [("reports", "0007_backgrounds"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="Track",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("asked_at", models.DateTimeField()),
                ("asked_by", to(settings.AUTH_USER_MODEL)),
                ("order", to("orders.order", name="tracks")),
                ("result", to("engine_queue.result", models.OneToOneField, "track")),
                ("run", to("engine_queue.run", models.OneToOneField, "track")),
            ],
        ),
        migrations.RunSQL(*insert_only("reports_track")),
    ]
