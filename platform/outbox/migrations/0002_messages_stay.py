"""A message says what it was written with, is sent once, and stays: that somebody was told can be looked up."""

from django.db import migrations

from foundation.protection import changeable, kept, pinned

TABLE = "outbox_message"


class Migration(migrations.Migration):
    dependencies = [("outbox", "0001_initial")]
    operations = [
        migrations.RunSQL(*changeable(TABLE, "not_before tries last_error sent_at")),
        migrations.RunSQL(*pinned(TABLE, "not_before tries last_error sent_at", when="OLD.sent_at IS NOT NULL", name="sent")),
        migrations.RunSQL(*kept(TABLE)),
    ]
