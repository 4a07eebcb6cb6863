"""API tokens, which no UPDATE can widen or bring back; and service accounts, for each of which a person answers."""

import datetime
import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from foundation.protection import changeable, kept, pinned

PROGRAMS = """
    CREATE FUNCTION accounts_membership_programs() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.ended_at IS NULL AND (NEW.role = 'service') <>
           (SELECT responsible_id IS NOT NULL FROM accounts_user WHERE id = NEW.user_id) THEN
            RAISE EXCEPTION 'the service role is for accounts that a person answers for, and such an account has no other'
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER accounts_membership_programs BEFORE INSERT OR UPDATE OF user_id, role, ended_at ON accounts_membership
        FOR EACH ROW EXECUTE FUNCTION accounts_membership_programs();
"""
UNDO_PROGRAMS = "DROP TRIGGER accounts_membership_programs ON accounts_membership; DROP FUNCTION accounts_membership_programs();"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [
        migrations.AddField(
            model_name="user",
            name="responsible",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="service_accounts", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=80)),
                ("prefix", models.CharField(max_length=10, unique=True)),
                ("sha256", models.CharField(max_length=64)),
                ("scopes", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), size=None)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "organisation",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to="accounts.organisation"),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tokens", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "revoked_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "-created_at"], name="tokens_of_owner")],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(expires_at__gt=F("created_at"))
                        & Q(expires_at__lte=F("created_at") + datetime.timedelta(days=366)),
                        name="token_ends_within_a_year",
                    ),
                    models.CheckConstraint(condition=~Q(scopes=[]), name="token_has_a_scope"),
                ],
            },
        ),
        migrations.RunSQL(PROGRAMS, UNDO_PROGRAMS),
        migrations.RunSQL(*changeable("accounts_apitoken", "last_used_at revoked_at revoked_by_id")),
        migrations.RunSQL(
            *pinned("accounts_apitoken", "owner_id name prefix sha256 scopes organisation_id created_by_id created_at expires_at")
        ),
        migrations.RunSQL(
            *pinned("accounts_apitoken", "revoked_at revoked_by_id", when="OLD.revoked_at IS NOT NULL", name="stays_revoked")
        ),
        migrations.RunSQL(*kept("accounts_apitoken")),
    ]
