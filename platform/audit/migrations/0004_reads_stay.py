"""When somebody last looked is moved on by his next look, never back and never away: without the row nothing tells two looks apart."""

from django.db import migrations

from foundation.protection import changeable, kept, pinned

TABLE = "audit_lastread"


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_reads")]
    operations = [
        migrations.RunSQL(*changeable(TABLE, "at")),
        migrations.RunSQL(*pinned(TABLE, "at", when="NEW.at < OLD.at", name="forward")),
        migrations.RunSQL(*kept(TABLE)),
    ]
