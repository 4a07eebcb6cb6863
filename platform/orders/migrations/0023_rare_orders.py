"""Indexes for what programs and the reception ask of many orders: rare states and flags, placer numbers, expected specimens.

And when results came lies in the list of closed orders: a period of due times asks for it.
"""

from django.db import migrations
from django.db.models import F, Index, Q

SIDES = {"at": "performing_laboratory", "for": "ordering_organisation"}
RARE = {"stat": Q(rank=0), "held": ~Q(hold_reason=""), "attention": ~Q(attention="")}
NEWEST = (F("placed_at").desc(), F("id").desc())
SHOWN = ("state", "result_due", "report_due", "assignee", "placed_by", "test_version", "patient", "accession", "stated_mrn")
CLOSED = (*SHOWN, "scored_at", "rank", "placed_at", "ordering_site", "performing_site")
ENDED = (F("ended_at").desc(), F("id").desc())
PERFORMED, ORDERED = "performing_laboratory", "ordering_organisation"
LISTS = [
    Index(PERFORMED, *ENDED, include=(*CLOSED, ORDERED), condition=~Q(ended_at=None), name="closed_performed"),
    Index(ORDERED, *ENDED, include=(*CLOSED, PERFORMED), condition=~Q(ended_at=None), name="closed_ordered"),
]


class Migration(migrations.Migration):
    dependencies = [("orders", "0022_times")]
    operations = [
        *(migrations.RemoveIndex("order", one.name) for one in LISTS),
        *(migrations.AddIndex("order", one) for one in LISTS),
        *(migrations.AddIndex("order", Index(side, "state", *NEWEST, name=f"order_state_{name}")) for name, side in SIDES.items()),
        *(
            migrations.AddIndex("order", Index(side, *NEWEST, condition=condition, name=f"order_{rare}_{name}"))
            for rare, condition in RARE.items()
            for name, side in SIDES.items()
        ),
        migrations.AddIndex("order", Index(fields=["placer_number"], condition=~Q(placer_number=""), name="order_placer_number")),
        migrations.AddIndex("specimen", Index(fields=["id"], condition=Q(state="expected"), name="specimen_expected")),
        migrations.AddIndex("manifestrow", Index(fields=["manifest", "content_hash"], name="manifest_row_twin")),
    ]
