"""Postgres refuses what the state machines refuse; results are written once; a run and what it scores stay as pinned."""

from django.db import migrations

from engine_queue.machines import JOB, RUN
from foundation.protection import insert_only, kept, pinned

RUN_PINS = (
    "organisation_id order_id kind item_set_id test_version_id model_version_id deployment_id precision protocol "
    "reference_digest seed supersedes_id items_total"
)
ON_A_RUN = "EXISTS (SELECT 1 FROM engine_queue_run WHERE item_set_id = OLD.item_set_id)"


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0001_initial")]
    operations = [
        migrations.RunSQL(*RUN.trigger()),
        migrations.RunSQL(*JOB.trigger()),
        migrations.RunSQL(*insert_only("engine_queue_result")),
        migrations.RunSQL(*pinned("engine_queue_run", RUN_PINS)),
        migrations.RunSQL(*kept("engine_queue_run")),
        migrations.RunSQL(*pinned("engine_queue_job", "run_id organisation_id deployment_name first last format")),
        migrations.RunSQL(*kept("engine_queue_job")),
        migrations.RunSQL(*pinned("engine_queue_itemset", "kind reference_id count frozen_at", when="OLD.frozen_at IS NOT NULL")),
        migrations.RunSQL(*kept("engine_queue_itemset", when="OLD.frozen_at IS NOT NULL")),
        migrations.RunSQL(*pinned("engine_queue_item", "item_set_id ordinal contig position ref alt name sequence", when=ON_A_RUN)),
        migrations.RunSQL(*kept("engine_queue_item", when=ON_A_RUN)),
    ]
