"""Which bytes a row stands for is written once: whatever rests on a file rests on these bytes for ever."""

from django.db import migrations

from foundation.protection import insert_only


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_initial")]
    operations = [migrations.RunSQL(*insert_only("storage_storedfile"))]
