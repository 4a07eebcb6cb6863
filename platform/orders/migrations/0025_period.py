"""All that a turnaround report says of an order, in the index of its period."""

from django.db import migrations
from django.db.models import Index

SAID = (
    "id", "test_version", "rank", "state", "calendar", "clock_zone", "accepted_at", "started_at", "scored_at", "ended_at",
    "result_due", "report_due", "clock_stopped_at",
)  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("orders", "0024_run_again")]
    operations = [
        migrations.RemoveIndex("order", "order_of_period"),
        migrations.AddIndex("order", Index(fields=["performing_laboratory", "placed_at"], include=SAID, name="order_of_period")),
    ]
