"""Rows about results, by day, without what they say of whom; what was frozen; counts of hours. What is frozen stays."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models

from foundation.protection import changeable, insert_only, kept, pinned


REQUESTS = """
    CREATE TABLE drift_request (
        at timestamptz NOT NULL,
        result_id bigint NOT NULL,
        organisation_id uuid NOT NULL,
        site_id uuid,
        test_version_id uuid,
        model_version_id uuid NOT NULL,
        delta double precision,
        bits double precision,
        bases integer,
        tier smallint NOT NULL,
        flags smallint NOT NULL,
        failed boolean NOT NULL,
        kind varchar(10) NOT NULL,
        deployment_id varchar(80) NOT NULL,
        worker varchar(80) NOT NULL,
        PRIMARY KEY (at, result_id)
    ) PARTITION BY RANGE (at);
    CREATE TABLE drift_request_default PARTITION OF drift_request DEFAULT;
    REVOKE ALL ON drift_request_default FROM helicase_app;
    REVOKE UPDATE, DELETE, TRUNCATE ON drift_request FROM helicase_app;
    CREATE SEQUENCE drift_unwritten;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("registry", "0013_frequencies"),
        ("orders", "0026_labels"),
    ]

    operations = [
        migrations.CreateModel(
            name="Hour",
            fields=[
                ("hour", models.DateTimeField(primary_key=True, serialize=False)),
                ("rows", models.PositiveBigIntegerField(default=0)),
                ("done_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Missing",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_index=True)),
                ("organisation_id", models.UUIDField()),
                ("test_version_id", models.UUIDField(null=True)),
                ("model_version_id", models.UUIDField()),
                ("deployment_id", models.CharField(max_length=80)),
                ("kind", models.CharField(max_length=10)),
                ("number", models.PositiveIntegerField()),
                ("why", models.CharField(max_length=200)),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Request",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "at", "result_id", blank=True, editable=False, primary_key=True, serialize=False
                            ),
                        ),
                        ("at", models.DateTimeField()),
                        ("result_id", models.BigIntegerField()),
                        ("organisation_id", models.UUIDField()),
                        ("site_id", models.UUIDField(null=True)),
                        ("test_version_id", models.UUIDField(null=True)),
                        ("model_version_id", models.UUIDField()),
                        ("delta", models.FloatField(null=True)),
                        ("bits", models.FloatField(null=True)),
                        ("bases", models.IntegerField(null=True)),
                        ("tier", models.SmallIntegerField()),
                        ("flags", models.SmallIntegerField()),
                        ("failed", models.BooleanField()),
                        ("kind", models.CharField(max_length=10)),
                        ("deployment_id", models.CharField(max_length=80)),
                        ("worker", models.CharField(max_length=80)),
                    ],
                ),
            ],
            database_operations=[migrations.RunSQL(REQUESTS, "DROP TABLE drift_request; DROP SEQUENCE drift_unwritten")],
        ),
        migrations.CreateModel(
            name="FrozenReference",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField(db_index=True)),
                (
                    "feature",
                    models.CharField(
                        choices=[
                            ("delta", "Δ of the variant, in nats"),
                            ("bits", "bits per base of the reference window, or of the sequence"),
                            ("bases", "bases that were scored"),
                            ("flags", "flags of the result"),
                            ("failed", "items that could not be scored"),
                        ],
                        max_length=10,
                    ),
                ),
                ("since", models.DateField()),
                ("until", models.DateField()),
                ("edges", django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                ("counts", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ("n", models.PositiveBigIntegerField()),
                ("total", models.FloatField()),
                ("squares", models.FloatField()),
                ("low", models.FloatField()),
                ("high", models.FloatField()),
                ("sha256", models.CharField(max_length=64)),
                ("frozen_by", models.UUIDField(null=True)),
                ("frozen_by_name", models.CharField(max_length=200)),
                ("frozen_at", models.DateTimeField()),
                ("ended_on", models.DateField(null=True)),
                (
                    "deployment",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.deployment"),
                ),
                (
                    "model_version",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.modelversion"),
                ),
                (
                    "test_version",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.testversion"),
                ),
            ],
            options={"db_table": "drift_reference"},
        ),
        migrations.CreateModel(
            name="Hist",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "reference_id", "slice", "key", "hour", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("hour", models.DateTimeField(db_index=True)),
                ("organisation_id", models.UUIDField()),
                ("slice", models.CharField(max_length=6)),
                ("key", models.CharField(blank=True, max_length=80)),
                ("n", models.PositiveBigIntegerField()),
                ("total", models.FloatField()),
                ("squares", models.FloatField()),
                ("low", models.FloatField()),
                ("high", models.FloatField()),
                ("counts", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                (
                    "reference",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="drift.frozenreference"),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="frozenreference",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_on", None)),
                fields=("test_version", "model_version", "deployment", "feature"),
                name="one_live_reference",
            ),
        ),
        migrations.RunSQL(*insert_only("drift_missing")),
        migrations.RunSQL(*changeable("drift_reference", "ended_on")),
        migrations.RunSQL(*pinned("drift_reference", "ended_on", when="OLD.ended_on IS NOT NULL")),
        migrations.RunSQL(*kept("drift_reference")),
        migrations.RunSQL(*changeable("drift_hour", "rows done_at")),
        migrations.RunSQL("REVOKE UPDATE, TRUNCATE ON drift_hist FROM helicase_app", "GRANT UPDATE ON drift_hist TO helicase_app"),
    ]
