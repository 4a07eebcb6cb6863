"""Each webhook has a secret of its own, kept sealed; the one before it signs along for a while. Those that there are stay as they are."""

import hashlib
import hmac
from typing import Any

from django.conf import settings
from django.db import migrations, models

from foundation.protection import changeable, pinned
from notices import sealing

TABLE = "notices_endpoint"
BEFORE, NOW = "nonce ended_at", "nonce ended_at sealed sealed_before before_until"


def keep(apps: Any, schema_editor: Any) -> None:
    """Until now a secret was made from the key of the installation at each use."""
    rows = apps.get_model("notices", "Endpoint").objects.using(schema_editor.connection.alias)
    for row in rows.filter(ended_at=None, sealed=""):
        made = f"webhook {row.pk} {row.nonce}".encode()
        row.sealed = sealing.seal(hmac.new(settings.SECRET_KEY.encode(), made, hashlib.sha256).digest())
        row.save(update_fields=["sealed"])


class Migration(migrations.Migration):
    dependencies = [("notices", "0002_ends")]
    operations = [
        migrations.AlterField("endpoint", "nonce", models.CharField(blank=True, default="", max_length=64)),
        migrations.AddField("endpoint", "sealed", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("endpoint", "sealed_before", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("endpoint", "before_until", models.DateTimeField(null=True)),
        migrations.RunPython(keep, migrations.RunPython.noop),
        migrations.RunSQL(changeable(TABLE, NOW)[0], changeable(TABLE, BEFORE)[0]),
        migrations.RunSQL(
            *pinned(TABLE, "sealed sealed_before before_until", when="OLD.ended_at IS NOT NULL", name="sealed_ended")
        ),
    ]
