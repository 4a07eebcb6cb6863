"""Deletions, duplications and inversions without written alleles: where they end."""

from django.db import migrations, models

from foundation.protection import pinned

ON_A_RUN = "EXISTS (SELECT 1 FROM engine_queue_run WHERE item_set_id = OLD.item_set_id)"


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0004_wishes")]
    operations = [
        migrations.AddField("item", "end_position", models.BigIntegerField(default=0, db_default=0)),
        migrations.RunSQL(*pinned("engine_queue_item", "end_position", when=ON_A_RUN, name="end_pinned")),
    ]
