"""An order may need a person for several things; a reception or rejection is taken back, with the row that keeps what it said."""

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import Q

from foundation.protection import insert_only, pinned
from orders.machines import SPECIMEN

PERSON = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+", "to": settings.AUTH_USER_MODEL}
RECEPTION = "received_at received_by_id late_reason condition condition_words"
REJECTION = "rejected_reason rejected_words rejected_at rejected_by_id"
STAMPED = """
    CREATE TRIGGER orders_specimencorrection_stamp BEFORE INSERT ON orders_specimencorrection
        FOR EACH ROW EXECUTE FUNCTION orders_stamp();
"""


def kept(what: str) -> str:
    """That what goes is kept in a row of the same transaction."""
    return f"""EXISTS (SELECT 1 FROM orders_specimencorrection c WHERE c.specimen_id = OLD.id AND c.what = '{what}'
        AND c.version = OLD.version AND c.transaction = pg_current_xact_id()::text::bigint)"""


def unless_kept(columns: str, when: str, what: str, name: str) -> migrations.RunSQL:
    """The pins of a specimen's facts, which give way to a correction alone."""
    old = pinned("orders_specimen", columns, when=when, name=name)
    new = pinned("orders_specimen", columns, when=f"{when} AND NOT {kept(what)}", name=name)
    return migrations.RunSQL(old[1] + new[0], new[1] + old[0])


def text(length: int) -> models.CharField:
    return models.CharField(blank=True, db_default="", max_length=length)


class Migration(migrations.Migration):
    dependencies = [("orders", "0019_rank_and_indication"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.AddField(
            "order",
            "attention_also",
            ArrayField(base_field=models.CharField(max_length=60), blank=True, db_default=[], default=list, size=None),
        ),
        migrations.CreateModel(
            name="SpecimenCorrection",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("version", models.PositiveIntegerField()),
                ("what", models.CharField(max_length=10)),
                ("received_at", models.DateTimeField(null=True)),
                ("condition", text(120)),
                ("condition_words", text(300)),
                ("late_reason", text(300)),
                ("rejected_reason", text(60)),
                ("rejected_words", text(300)),
                ("rejected_at", models.DateTimeField(null=True)),
                ("words", models.CharField(max_length=300)),
                ("at", models.DateTimeField()),
                ("transaction", models.BigIntegerField(default=0)),
                ("by", models.ForeignKey(**PERSON)),
                ("received_by", models.ForeignKey(null=True, **PERSON)),
                ("rejected_by", models.ForeignKey(null=True, **PERSON)),
                (
                    "order",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="orders.order"),
                ),
                (
                    "specimen",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="corrections", to="orders.specimen"),
                ),
            ],
        ),
        migrations.AddConstraint(
            "specimencorrection",
            models.CheckConstraint(condition=Q(what__in=["reception", "rejection"]) & ~Q(words=""), name="correction_of_what"),
        ),
        migrations.RunSQL(STAMPED, "DROP TRIGGER orders_specimencorrection_stamp ON orders_specimencorrection;"),
        migrations.RunSQL(*insert_only("orders_specimencorrection")),
        migrations.RunSQL(SPECIMEN.trigger()[1] + SPECIMEN.trigger()[0], migrations.RunSQL.noop),
        unless_kept(RECEPTION, "OLD.state <> 'expected'", "reception", "reception_pinned"),
        unless_kept(REJECTION, "OLD.state = 'rejected'", "rejection", "rejection_pinned"),
        unless_kept("rejection_read_at", "OLD.rejection_read_at IS NOT NULL", "rejection", "read_pinned"),
    ]
