"""Who made an order less urgent than its requester had it; and an order that is STAT and on hold was agreed on."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from foundation.protection import changeable, pinned

PERSON = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+", "to": settings.AUTH_USER_MODEL}
PRIORITIES = [("stat", "STAT"), ("asap", "ASAP"), ("urgent", "Urgent"), ("routine", "Routine")]
KNOWN = [key for key, _ in PRIORITIES]
TABLE = "orders_demotion"
# Until now one person could not put a STAT order on hold that another had placed.
AGREED = "UPDATE orders_order SET hold_agreed = true WHERE priority = 'stat' AND hold_reason <> ''"


class Migration(migrations.Migration):
    dependencies = [("orders", "0006_hold_requests"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            "Demotion",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("before", models.CharField(choices=PRIORITIES, max_length=10)),
                ("after", models.CharField(choices=PRIORITIES, max_length=10)),
                ("words", models.CharField(max_length=300)),
                ("at", models.DateTimeField()),
                ("read_at", models.DateTimeField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                ("by", models.ForeignKey(**PERSON)),
                ("order", models.ForeignKey(on_delete=PERSON["on_delete"], related_name="demotions", to="orders.order")),
                ("requester", models.ForeignKey(null=True, **PERSON)),
            ],
            options={
                "indexes": [models.Index(condition=Q(read_at=None, undone_at=None), fields=["requester"], name="demotion_unread")],
                "constraints": [
                    models.CheckConstraint(condition=~Q(by=F("requester")), name="demoted_by_another"),
                    models.CheckConstraint(
                        condition=Q(before__in=KNOWN, after__in=KNOWN) & ~Q(before=F("after")), name="demoted_from_and_to"
                    ),
                ],
            },
        ),
        migrations.RunSQL(*changeable(TABLE, "read_at undone_at")),
        migrations.RunSQL(*pinned(TABLE, "read_at", when="OLD.read_at IS NOT NULL", name="read")),
        migrations.RunSQL(*pinned(TABLE, "undone_at", when="OLD.undone_at IS NOT NULL", name="undone")),
        migrations.AddField("order", "hold_agreed", models.BooleanField(db_default=False, default=False)),
        migrations.RunSQL(AGREED, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "order",
            models.CheckConstraint(
                condition=~Q(priority="stat") | Q(hold_reason="") | Q(hold_agreed=True), name="stat_hold_agreed"
            ),
        ),
    ]
