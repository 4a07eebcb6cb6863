"""The indexes that a worklist of any size is counted, filtered and sorted in; and whose work an order was until he left."""

from datetime import UTC, datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Index, Q, Value
from django.db.models.functions import Coalesce

DUE = Coalesce("report_due", Value(datetime(9999, 12, 31, tzinfo=UTC)))
SHOWN = ("state", "result_due", "report_due", "assignee", "placed_by", "test_version", "patient", "accession", "stated_mrn")
OPEN = (*SHOWN, "scored_at", "attention", "hold_reason", "risk", "clock_stopped_at")
CLOSED = (*SHOWN, "rank", "placed_at")
PERFORMED, ORDERED = "performing_laboratory", "ordering_organisation"
ENDED = (F("ended_at").desc(), F("id").desc())
OTHERS = Q(ended_at=None) & ~Q(ordering_organisation=F("performing_laboratory"))
LEFT = {"null": True, "on_delete": django.db.models.deletion.PROTECT, "related_name": "+", "to": settings.AUTH_USER_MODEL}


class Migration(migrations.Migration):
    dependencies = [("orders", "0014_manifests"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.AddField("order", "left_by", models.ForeignKey(**LEFT)),
        migrations.AddIndex(
            "order",
            Index(PERFORMED, "rank", DUE, "placed_at", "id", include=(*OPEN, ORDERED), condition=Q(ended_at=None), name="list_performed"),
        ),
        migrations.AddIndex(
            "order", Index(ORDERED, "rank", DUE, "placed_at", "id", include=(*OPEN, PERFORMED), condition=OTHERS, name="list_ordered")
        ),
        migrations.AddIndex(
            "order", Index(PERFORMED, *ENDED, include=(*CLOSED, ORDERED), condition=~Q(ended_at=None), name="closed_performed")
        ),
        migrations.AddIndex(
            "order", Index(ORDERED, *ENDED, include=(*CLOSED, PERFORMED), condition=~Q(ended_at=None), name="closed_ordered")
        ),
        migrations.AddIndex("order", Index(fields=[PERFORMED, ORDERED], name="order_parties")),
        *(
            migrations.RemoveIndex("order", name)
            for name in ("order_worklist", "order_worklist_requester", "order_closed", "order_closed_requester")
        ),
    ]
