"""What was read stays read, and a webhook that was removed gets nothing again."""

from django.db import migrations

from foundation.protection import pinned


class Migration(migrations.Migration):
    dependencies = [("notices", "0001_initial")]
    operations = [
        migrations.RunSQL(*pinned("notices_receipt", "read_at", when="OLD.read_at IS NOT NULL", name="read")),
        migrations.RunSQL(*pinned("notices_endpoint", "nonce ended_at", when="OLD.ended_at IS NOT NULL", name="ended")),
    ]
