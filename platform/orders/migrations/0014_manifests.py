"""Manifests of orders and their rows. A row that was placed stays what it was, with the order that came of it."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from foundation.protection import kept, pinned
from orders.machines import MANIFEST, MANIFEST_ROW

PROTECT = django.db.models.deletion.PROTECT
PERSON = {"on_delete": PROTECT, "related_name": "+", "to": settings.AUTH_USER_MODEL}
TABLE, ROWS = "orders_manifest", "orders_manifestrow"
HAS_ORDER = "OLD.order_id IS NOT NULL"


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0013_checkpoints"),
        ("storage", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            "Manifest",
            [
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("filename", models.CharField(max_length=255)),
                ("zone", models.CharField(max_length=64)),
                ("state", models.CharField(default="checking", max_length=10)),
                ("version", models.PositiveIntegerField(default=1)),
                ("problems", models.JSONField(default=list)),
                ("total", models.PositiveIntegerField(default=0)),
                ("valid_only", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("claim", models.UUIDField(null=True)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("created_by", models.ForeignKey(**PERSON)),
                ("file", models.ForeignKey(on_delete=PROTECT, to="storage.storedfile")),
                ("ordering_organisation", models.ForeignKey(on_delete=PROTECT, related_name="+", to="accounts.organisation")),
                ("placed_by", models.ForeignKey(null=True, **PERSON)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["ordering_organisation", "-created_at"], name="manifest_of_organisation"),
                    models.Index(
                        condition=Q(state__in=["checking", "placing"]), fields=["claimed_at"], name="manifest_working"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            "ManifestRow",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("number", models.PositiveIntegerField()),
                ("cells", models.JSONField()),
                ("rank", models.PositiveSmallIntegerField()),
                ("state", models.CharField(default="pending", max_length=10)),
                ("entry", models.TextField(blank=True)),
                ("content_hash", models.CharField(blank=True, max_length=64)),
                ("objections", models.JSONField(default=list)),
                ("settled_at", models.DateTimeField(null=True)),
                ("file", models.ForeignKey(null=True, on_delete=PROTECT, to="storage.storedfile")),
                ("intake", models.OneToOneField(null=True, on_delete=PROTECT, related_name="+", to="orders.intake")),
                ("manifest", models.ForeignKey(on_delete=PROTECT, related_name="rows", to="orders.manifest")),
                ("order", models.ForeignKey(null=True, on_delete=PROTECT, related_name="manifest_rows", to="orders.order")),
            ],
            options={
                "indexes": [models.Index(fields=["manifest", "state", "rank", "number"], name="manifest_row_next")],
                "constraints": [
                    models.UniqueConstraint(fields=("manifest", "number"), name="one_row_per_number"),
                    models.UniqueConstraint(
                        condition=Q(state="placed"),
                        fields=("organisation_id", "content_hash"),
                        name="one_order_per_manifest_row",
                    ),
                    models.CheckConstraint(
                        condition=~Q(state__in=["placed", "before"]) | Q(order__isnull=False), name="placed_row_has_order"
                    ),
                ],
            },
        ),
        migrations.RunSQL(*MANIFEST.trigger()),
        migrations.RunSQL(*MANIFEST_ROW.trigger()),
        migrations.RunSQL(*pinned(TABLE, "ordering_organisation_id file_id filename zone created_by_id created_at")),
        migrations.RunSQL(*kept(TABLE, when=f"EXISTS (SELECT 1 FROM {ROWS} WHERE manifest_id = OLD.id AND order_id IS NOT NULL)")),
        migrations.RunSQL(*pinned(ROWS, "organisation_id manifest_id number cells rank")),
        migrations.RunSQL(*pinned(ROWS, "state file_id intake_id content_hash order_id settled_at", when=HAS_ORDER, name="placed")),
        migrations.RunSQL(*kept(ROWS, when=HAS_ORDER)),
    ]
