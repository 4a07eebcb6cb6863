"""Validation records: proposed, approved by a director who did not propose it, suspended for good. The database sees to it."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from foundation.protection import changeable, kept, pinned
from registry.machines import VALIDATION

TABLE = "registry_validationrecord"
PINS = (
    "id laboratory_id test_version_id model_version_id deployment_id precision reference_digest environment statement "
    "proposed_by_id proposed_at"
)
# What is proposed is what the test version is made of now; who approves is a director of its laboratory.
TRUE_NOW = f"""
    CREATE FUNCTION {TABLE}_true() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' AND NOT EXISTS (
            SELECT 1 FROM registry_testversion t
            JOIN registry_testdefinition f ON f.id = t.definition_id
            JOIN registry_deployment d ON d.name = t.deployment_id
            JOIN registry_reference r ON r.id = t.reference_id
            WHERE t.id = NEW.test_version_id AND t.intended_use = 'clinical' AND f.laboratory_id = NEW.laboratory_id
                AND d.name = NEW.deployment_id AND d.model_version_id = NEW.model_version_id AND d.precision = NEW.precision
                AND d.fingerprint = NEW.environment AND d.fingerprint <> '' AND r.digest = NEW.reference_digest
        ) THEN
            RAISE EXCEPTION 'a validation record names the components of a clinical test version' USING ERRCODE = 'check_violation';
        END IF;
        IF TG_OP = 'UPDATE' AND NEW.state = 'approved' AND OLD.state <> 'approved' AND NOT EXISTS (
            SELECT 1 FROM accounts_membership m JOIN accounts_user u ON u.id = m.user_id
            WHERE m.user_id = NEW.decided_by_id AND m.organisation_id = NEW.laboratory_id
                AND m.role = 'director' AND m.ended_at IS NULL AND u.is_active
        ) THEN
            RAISE EXCEPTION 'a director of the laboratory approves a validation record' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER {TABLE}_true BEFORE INSERT OR UPDATE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION {TABLE}_true();
"""
UNDO_TRUE = f"DROP TRIGGER {TABLE}_true ON {TABLE}; DROP FUNCTION {TABLE}_true();"


def to(model: str) -> models.ForeignKey:
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=model)


class Migration(migrations.Migration):
    dependencies = [("registry", "0011_signatures"), ("accounts", "0006_step_up")]
    operations = [
        migrations.CreateModel(
            name="ValidationRecord",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("precision", models.CharField(max_length=20)),
                ("reference_digest", models.CharField(max_length=64)),
                ("environment", models.CharField(max_length=64)),
                ("statement", models.TextField()),
                ("state", models.CharField(default="proposed", max_length=12)),
                ("version", models.PositiveIntegerField(default=1)),
                ("proposed_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                ("suspended_at", models.DateTimeField(null=True)),
                ("suspended_by", models.CharField(blank=True, max_length=200)),
                ("words", models.CharField(blank=True, max_length=500)),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("deployment", to("registry.deployment")),
                ("laboratory", to("accounts.organisation")),
                ("model_version", to("registry.modelversion")),
                ("proposed_by", to(settings.AUTH_USER_MODEL)),
                (
                    "test_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="validations", to="registry.testversion"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["proposed", "approved"])),
                        fields=("test_version", "state"),
                        name="one_validation_stands",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "approved"), _negated=True),
                            models.Q(
                                ("decided_by__isnull", False),
                                models.Q(("decided_by", models.F("proposed_by")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="validation_approved_by_another",
                    ),
                ]
            },
        ),
        migrations.RunSQL(*VALIDATION.trigger()),
        migrations.RunSQL(*pinned(TABLE, PINS)),
        migrations.RunSQL(*pinned(TABLE, "decided_by_id decided_at", when="OLD.decided_at IS NOT NULL", name="decided")),
        migrations.RunSQL(*changeable(TABLE, "state version decided_by_id decided_at suspended_at suspended_by words")),
        migrations.RunSQL(*kept(TABLE)),
        migrations.RunSQL(TRUE_NOW, UNDO_TRUE),
    ]
