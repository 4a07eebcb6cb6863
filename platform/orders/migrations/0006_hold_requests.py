"""Requests to hold a STAT order, which a second person confirms."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from foundation.protection import changeable
from orders.machines import HOLD_REQUEST

PERSON = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+", "to": settings.AUTH_USER_MODEL}


class Migration(migrations.Migration):
    dependencies = [("orders", "0005_risk"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            "HoldRequest",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("reason", models.CharField(max_length=60)),
                ("words", models.CharField(blank=True, max_length=300)),
                ("asked_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("state", models.CharField(default="open", max_length=10)),
                ("version", models.PositiveIntegerField(default=1)),
                ("answered_at", models.DateTimeField(null=True)),
                ("answer", models.CharField(blank=True, max_length=300)),
                ("answered_by", models.ForeignKey(null=True, **PERSON)),
                ("asked_by", models.ForeignKey(**PERSON)),
                ("order", models.ForeignKey(on_delete=PERSON["on_delete"], related_name="hold_requests", to="orders.order")),
            ],
            options={
                "indexes": [models.Index(condition=Q(state="open"), fields=["expires_at"], name="hold_request_open")],
                "constraints": [
                    models.UniqueConstraint(condition=Q(state="open"), fields=("order",), name="one_open_hold_request"),
                    models.CheckConstraint(
                        condition=~Q(state="confirmed") | (Q(answered_by__isnull=False) & ~Q(answered_by=F("asked_by"))),
                        name="hold_confirmed_by_another",
                    ),
                ],
            },
        ),
        migrations.RunSQL(*HOLD_REQUEST.trigger()),
        migrations.RunSQL(*changeable("orders_holdrequest", "state version answered_by_id answered_at answer")),
    ]
