"""Events can be written and read, by nobody changed."""

from django.db import migrations

from foundation.protection import insert_only


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunSQL(*insert_only("audit_event"))]
