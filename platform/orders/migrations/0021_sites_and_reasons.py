"""A replacement says why it was placed; a worklist is narrowed to a site without reading an order."""

from datetime import UTC, datetime

from django.db import migrations, models
from django.db.models import F, Index, Q, Value
from django.db.models.functions import Coalesce

DUE = Coalesce("report_due", Value(datetime(9999, 12, 31, tzinfo=UTC)))
SHOWN = ("state", "result_due", "report_due", "assignee", "placed_by", "test_version", "patient", "accession", "stated_mrn")
SITES = ("ordering_site", "performing_site")
OPEN = (*SHOWN, "scored_at", "attention", "hold_reason", "risk", "clock_stopped_at")
CLOSED = (*SHOWN, "rank", "placed_at")
PERFORMED, ORDERED = "performing_laboratory", "ordering_organisation"
ENDED = (F("ended_at").desc(), F("id").desc())
OTHERS = Q(ended_at=None) & ~Q(ordering_organisation=F("performing_laboratory"))
LISTED = ("rank", DUE, "placed_at", "id")


def lists(sites: tuple[str, ...]) -> list[Index]:
    return [
        Index(PERFORMED, *LISTED, include=(*OPEN, *sites, ORDERED), condition=Q(ended_at=None), name="list_performed"),
        Index(ORDERED, *LISTED, include=(*OPEN, *sites, PERFORMED), condition=OTHERS, name="list_ordered"),
        Index(PERFORMED, *ENDED, include=(*CLOSED, *sites, ORDERED), condition=~Q(ended_at=None), name="closed_performed"),
        Index(ORDERED, *ENDED, include=(*CLOSED, *sites, PERFORMED), condition=~Q(ended_at=None), name="closed_ordered"),
    ]


class Migration(migrations.Migration):
    dependencies = [("orders", "0020_needs_and_corrections")]
    operations = [
        migrations.AddField("order", "replaces_reason", models.CharField(blank=True, db_default="", max_length=300)),
        *(migrations.RemoveIndex("order", one.name) for one in lists(())),
        *(migrations.AddIndex("order", one) for one in lists(SITES)),
    ]
