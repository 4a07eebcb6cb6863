"""Identity checks that a person decides, corrections, merges, and the rows that changed their patient by any of these."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

KEPT = {"on_delete": django.db.models.deletion.PROTECT}
PERSON = {**KEPT, "related_name": "+", "to": settings.AUTH_USER_MODEL}
PATIENT = {**KEPT, "related_name": "+", "to": "orders.patient"}
ID = ("id", models.BigAutoField(primary_key=True, serialize=False))
SYSTEM_VALUE = ["organisation", "system", "value"]
DECIDED = Q(decided_by__isnull=False) & ~Q(words="")
# Orders that wait for an identity check: who has the stated number.
OPEN = """
    INSERT INTO orders_identitycheck
        (ordering_organisation_id, performing_laboratory_id, order_id, known_id, state, version, opened_at, decision, words)
    SELECT o.ordering_organisation_id, o.performing_laboratory_id, o.id, i.patient_id, 'open', 1, o.placed_at, '', ''
    FROM orders_order o JOIN orders_patientidentifier i
        ON i.organisation_id = o.ordering_organisation_id AND i.system = o.ordering_organisation_id::text AND i.value = o.stated_mrn
    WHERE o.state = 'submitted' AND o.attention = 'identity.mismatch'
"""


class Migration(migrations.Migration):
    dependencies = [("orders", "0016_replacement"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            "IdentityCheck",
            [
                ID,
                ("ordering_organisation_id", models.UUIDField()),
                ("performing_laboratory_id", models.UUIDField()),
                ("order", models.ForeignKey(**KEPT, related_name="identity_checks", to="orders.order")),
                ("known", models.ForeignKey(**PATIENT)),
                ("state", models.CharField(default="open", max_length=12)),
                ("version", models.PositiveIntegerField(default=1)),
                ("opened_at", models.DateTimeField()),
                ("decision", models.CharField(blank=True, max_length=60)),
                ("words", models.CharField(blank=True, max_length=300)),
                ("decided_by", models.ForeignKey(null=True, **PERSON)),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=Q(state="open"), fields=["ordering_organisation_id"], name="identity_check_open")
                ],
                "constraints": [
                    models.UniqueConstraint(condition=Q(state="open"), fields=("order",), name="one_open_identity_check"),
                    models.CheckConstraint(
                        condition=~Q(state__in=["settled", "rejected", "asked_again"]) | DECIDED, name="identity_decided_by_a_person"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            "PatientChange",
            [
                ID,
                ("organisation_id", models.UUIDField()),
                ("patient", models.ForeignKey(**KEPT, related_name="changes", to="orders.patient")),
                ("before", models.JSONField()),
                ("after", models.JSONField()),
                ("check_of", models.ForeignKey(null=True, **KEPT, related_name="corrections", to="orders.identitycheck")),
                ("words", models.CharField(max_length=300)),
                ("by", models.ForeignKey(**PERSON)),
                ("at", models.DateTimeField()),
                ("transaction", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            "Merge",
            [
                ID,
                ("organisation_id", models.UUIDField()),
                ("survivor", models.ForeignKey(**KEPT, related_name="merges", to="orders.patient")),
                ("merged", models.ForeignKey(**KEPT, related_name="merged_by", to="orders.patient")),
                ("state", models.CharField(default="standing", max_length=10)),
                ("version", models.PositiveIntegerField(default=1)),
                ("words", models.CharField(max_length=300)),
                ("by", models.ForeignKey(**PERSON)),
                ("at", models.DateTimeField()),
                ("undone_words", models.CharField(blank=True, max_length=300)),
                ("undone_by", models.ForeignKey(null=True, **PERSON)),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(condition=Q(state="standing"), fields=("merged",), name="one_survivor_of_a_record"),
                    models.CheckConstraint(condition=~Q(merged=F("survivor")), name="merged_into_another_record"),
                ],
            },
        ),
        migrations.CreateModel(
            "Move",
            [
                ID,
                ("organisation_id", models.UUIDField()),
                ("merge", models.ForeignKey(null=True, **KEPT, related_name="moves", to="orders.merge")),
                ("check_of", models.ForeignKey(null=True, **KEPT, related_name="moves", to="orders.identitycheck")),
                ("back", models.BooleanField(default=False)),
                ("kind", models.CharField(max_length=10)),
                ("row", models.CharField(max_length=36)),
                ("origin", models.ForeignKey(**PATIENT)),
                ("target", models.ForeignKey(**PATIENT)),
                ("at", models.DateTimeField()),
                ("transaction", models.BigIntegerField(default=0)),
            ],
            options={
                "indexes": [models.Index(fields=["row", "kind"], name="move_of_row")],
                "constraints": [
                    models.CheckConstraint(condition=Q(kind__in=["order", "specimen", "identifier"]), name="moved_kind_known"),
                    models.CheckConstraint(condition=Q(merge=None) ^ Q(check_of=None), name="moved_by_one_decision"),
                ],
            },
        ),
        migrations.AddField("patient", "edits", models.PositiveIntegerField(db_default=1, default=1)),
        migrations.AddField("patientidentifier", "added_by", models.ForeignKey(null=True, **PERSON)),
        migrations.AddField("patientidentifier", "added_at", models.DateTimeField(null=True)),
        migrations.AddField("patientidentifier", "retired_words", models.CharField(blank=True, db_default="", max_length=300)),
        migrations.AddField("patientidentifier", "retired_by", models.ForeignKey(null=True, **PERSON)),
        migrations.AddField("patientidentifier", "retired_at", models.DateTimeField(null=True)),
        migrations.RemoveConstraint("patientidentifier", "one_patient_per_identifier"),
        migrations.AddConstraint(
            "patientidentifier",
            models.UniqueConstraint(condition=Q(retired_at=None), fields=SYSTEM_VALUE, name="one_patient_per_identifier"),
        ),
        migrations.RunSQL(OPEN, migrations.RunSQL.noop),
    ]
