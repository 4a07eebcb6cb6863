"""The order in which events are sealed, as an index, made while events are written."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("audit", "0005_sealing")]
    operations = [
        AddIndexConcurrently(
            "event", models.Index(fields=["xact", "id"], condition=models.Q(xact__isnull=False), name="event_by_transaction")
        )
    ]
