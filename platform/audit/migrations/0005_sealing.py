"""Events say which transaction wrote them; links seal them, and can only be added. Events of before have no transaction."""

from django.db import migrations, models

import audit.models
from foundation.protection import changeable, insert_only, kept

SEALING = "looked_at swept held_up anchored_at anchored_seq anchor trouble trouble_at"


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_reads_stay")]
    operations = [
        migrations.SeparateDatabaseAndState(
            # in two steps: a default that is computed would write every row of before anew
            database_operations=[
                migrations.RunSQL(
                    [
                        "ALTER TABLE audit_event ADD COLUMN xact bigint",
                        "ALTER TABLE audit_event ALTER COLUMN xact SET DEFAULT (pg_current_xact_id()::text::bigint)",
                    ],
                    "ALTER TABLE audit_event DROP COLUMN xact",
                )
            ],
            state_operations=[
                migrations.AddField(
                    "event", "xact", models.BigIntegerField(null=True, db_default=audit.models.CurrentTransaction())
                )
            ],
        ),
        migrations.CreateModel(
            "Link",
            [
                ("seq", models.BigIntegerField(primary_key=True, serialize=False)),
                ("event_id", models.BigIntegerField(unique=True)),
                ("organisation_id", models.UUIDField()),
                ("recipe", models.PositiveSmallIntegerField()),
                ("sealed_at", models.DateTimeField()),
                ("digest", models.BinaryField()),
                ("hash", models.BinaryField()),
            ],
        ),
        migrations.RunSQL(*insert_only("audit_link")),
        migrations.CreateModel(
            "Sealing",
            [
                ("id", models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ("looked_at", models.DateTimeField(null=True)),
                ("swept", models.BooleanField(default=False)),
                ("held_up", models.CharField(blank=True, default="", max_length=300)),
                ("anchored_at", models.DateTimeField(null=True)),
                ("anchored_seq", models.BigIntegerField(default=0)),
                ("anchor", models.CharField(blank=True, default="", max_length=64)),
                ("trouble", models.CharField(blank=True, default="", max_length=300)),
                ("trouble_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.RunSQL(
            "INSERT INTO audit_sealing (id, swept, held_up, anchored_seq, anchor, trouble) VALUES (1, false, '', 0, '', '')",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(*changeable("audit_sealing", SEALING)),
        migrations.RunSQL(*kept("audit_sealing")),
    ]
