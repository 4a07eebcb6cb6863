"""Break-glass: opened with a proof of one's own; its end and its review are written once, and it is never deleted."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q
from datetime import timedelta

from foundation.protection import changeable, kept, pinned

NEVER = "id user_id organisation_id laboratory_id patient_id patient_organisation_id kind words proof_id opened_at until"
REVIEW = "reviewed_at reviewed_by_id justified review_words"
PROVEN = """
    CREATE FUNCTION accounts_breakglass_proven() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.ended_at IS NOT NULL OR NEW.reviewed_at IS NOT NULL THEN
            RAISE EXCEPTION 'accounts_breakglass begins open and unreviewed' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT EXISTS (SELECT 1 FROM accounts_stepup s WHERE s.id = NEW.proof_id AND s.user_id = NEW.user_id
                AND s.object_type = 'accounts.user' AND s.object_id = NEW.user_id::text
                AND s.organisation_id = NEW.laboratory_id AND s.used_at IS NOT NULL) THEN
            RAISE EXCEPTION 'accounts_breakglass needs a used proof of its own person' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER accounts_breakglass_proven BEFORE INSERT ON accounts_breakglass
        FOR EACH ROW EXECUTE FUNCTION accounts_breakglass_proven();
"""
UNPROVEN = "DROP TRIGGER accounts_breakglass_proven ON accounts_breakglass; DROP FUNCTION accounts_breakglass_proven();"


def person(**more):
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL, **more)


def place():
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.organisation")


KINDS = [
    ("breakglass.emergency", "The patient is in an emergency"),
    ("breakglass.taken-over", "I have taken over the care of the patient"),
    ("breakglass.unreachable", "Nobody who has the report can be reached"),
    ("breakglass.other", "Another reason, which I give in words"),
]
ENDS = [
    ("by_itself", "by itself, when its time was over"),
    ("by_the_person", "by the person, before its time was over"),
]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_step_up")]
    operations = [
        migrations.CreateModel(
            name="BreakGlass",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("patient_id", models.UUIDField()),
                ("patient_organisation_id", models.UUIDField()),
                ("kind", models.CharField(choices=KINDS, max_length=60)),
                ("words", models.CharField(max_length=500)),
                ("opened_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_how", models.CharField(blank=True, choices=ENDS, default="", max_length=20)),
                ("reviewed_at", models.DateTimeField(null=True)),
                ("justified", models.BooleanField(null=True)),
                ("review_words", models.CharField(blank=True, default="", max_length=500)),
                ("laboratory", place()),
                ("organisation", place()),
                (
                    "proof",
                    models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.stepup"),
                ),
                ("reviewed_by", person(null=True)),
                ("user", person()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["laboratory", "-opened_at"], name="break_glass_of_laboratory"),
                    models.Index(fields=["until"], condition=Q(ended_at=None), name="break_glass_open"),
                ],
                "constraints": [
                    models.UniqueConstraint(condition=Q(ended_at=None), fields=("user",), name="one_break_glass_at_a_time"),
                    models.CheckConstraint(
                        condition=Q(until__gt=F("opened_at")) & Q(until__lte=F("opened_at") + timedelta(minutes=60)),
                        name="break_glass_lasts_an_hour",
                    ),
                    models.CheckConstraint(
                        condition=Q(ended_at=None, ended_how="")
                        | Q(ended_at__gte=F("opened_at"), ended_at__lte=F("until")) & ~Q(ended_how=""),
                        name="break_glass_ends_in_its_time",
                    ),
                    models.CheckConstraint(condition=~Q(words=""), name="break_glass_has_a_reason"),
                    models.CheckConstraint(
                        condition=Q(reviewed_at=None, reviewed_by=None, justified=None, review_words="")
                        | Q(reviewed_at__isnull=False, reviewed_by__isnull=False, justified__isnull=False) & ~Q(review_words=""),
                        name="break_glass_review_is_whole",
                    ),
                    models.CheckConstraint(condition=~Q(reviewed_by=F("user")), name="break_glass_reviewed_by_another"),
                ],
            },
        ),
        migrations.RunSQL(*changeable("accounts_breakglass", f"ended_at ended_how {REVIEW}")),
        migrations.RunSQL(*pinned("accounts_breakglass", NEVER, name="opened_pinned")),
        migrations.RunSQL(*pinned("accounts_breakglass", "ended_at ended_how", when="OLD.ended_at IS NOT NULL", name="ended_once")),
        migrations.RunSQL(*pinned("accounts_breakglass", REVIEW, when="OLD.reviewed_at IS NOT NULL", name="reviewed_once")),
        migrations.RunSQL(*kept("accounts_breakglass")),
        migrations.RunSQL(PROVEN, UNPROVEN),
    ]
