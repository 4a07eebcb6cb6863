"""A specimen is expected, received in a coded condition, or rejected for a coded reason; the database keeps to it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from foundation.protection import pinned
from orders.machines import SPECIMEN

PERSON = {"null": True, "on_delete": django.db.models.deletion.PROTECT, "related_name": "+", "to": settings.AUTH_USER_MODEL}
CONDITIONS = ["", "acceptable", "haemolysed", "little", "clotted", "leaked", "warm", "delayed", "other"]
RECEPTION = "received_at received_by_id late_reason condition condition_words"
REJECTION = "rejected_reason rejected_words rejected_at rejected_by_id"
# A condition that was free text until now is kept as the words of "other".
FILL = """
    UPDATE orders_specimen SET condition_words = condition, condition = 'other'
        WHERE condition NOT IN ('', 'acceptable', 'haemolysed', 'little', 'clotted', 'leaked', 'warm', 'delayed', 'other');
    UPDATE orders_specimen SET state = 'received' WHERE received_at IS NOT NULL;
    SET CONSTRAINTS ALL IMMEDIATE;
"""


def blank(length: int) -> models.CharField:
    return models.CharField(blank=True, db_default="", max_length=length)


class Migration(migrations.Migration):
    dependencies = [("orders", "0010_sites_and_providers"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.AddField("specimen", "state", models.CharField(db_default="expected", default="expected", max_length=10)),
        migrations.AddField("specimen", "version", models.PositiveIntegerField(db_default=1, default=1)),
        migrations.AddField("specimen", "received_by", models.ForeignKey(**PERSON)),
        migrations.AddField("specimen", "late_reason", blank(300)),
        migrations.AddField("specimen", "condition_words", blank(300)),
        migrations.AddField("specimen", "rejected_reason", blank(60)),
        migrations.AddField("specimen", "rejected_words", blank(300)),
        migrations.AddField("specimen", "rejected_at", models.DateTimeField(null=True)),
        migrations.AddField("specimen", "rejected_by", models.ForeignKey(**PERSON)),
        migrations.AddField("specimen", "rejection_read_at", models.DateTimeField(null=True)),
        migrations.AddField("specimen", "rejection_read_by", models.ForeignKey(**PERSON)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "specimen", models.CheckConstraint(condition=Q(condition__in=CONDITIONS), name="specimen_condition_known")
        ),
        migrations.AddConstraint(
            "specimen",
            models.CheckConstraint(
                condition=(Q(state="expected", received_at=None) | Q(state="received", received_at__isnull=False))
                & Q(rejected_reason="", rejected_at=None)
                | Q(state="rejected", rejected_at__isnull=False) & ~Q(rejected_reason=""),
                name="specimen_facts_of_its_state",
            ),
        ),
        migrations.AddConstraint(
            "specimen",
            models.CheckConstraint(
                condition=Q(received_at=None) | Q(received_at__gte=F("collected_at")), name="specimen_received_after_collection"
            ),
        ),
        migrations.AddConstraint(
            "specimen",
            models.CheckConstraint(
                condition=Q(rejection_read_at=None) | Q(state="rejected", rejection_read_by__isnull=False), name="rejection_read"
            ),
        ),
        migrations.AddIndex("specimen", models.Index(fields=["identifier"], name="specimen_by_label")),
        migrations.AddIndex(
            "specimen",
            models.Index(condition=Q(received_at__isnull=False), fields=["received_at"], name="specimen_received"),
        ),
        migrations.AddIndex(
            "specimen",
            models.Index(condition=Q(rejected_at__isnull=False), fields=["rejected_at"], name="specimen_rejected"),
        ),
        migrations.AddIndex(
            "specimen",
            models.Index(condition=Q(state="rejected", rejection_read_at=None), fields=["organisation"], name="rejection_unread"),
        ),
        migrations.RunSQL(*SPECIMEN.trigger()),
        migrations.RunSQL(*pinned("orders_specimen", RECEPTION, when="OLD.state <> 'expected'", name="reception_pinned")),
        migrations.RunSQL(*pinned("orders_specimen", REJECTION, when="OLD.state = 'rejected'", name="rejection_pinned")),
        migrations.RunSQL(
            *pinned("orders_specimen", "rejection_read_at", when="OLD.rejection_read_at IS NOT NULL", name="read_pinned")
        ),
    ]
