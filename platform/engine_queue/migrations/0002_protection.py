"""Postgres refuses what the state machines refuse; results are written once; a run and what it scores stay as pinned."""

from django.db import migrations

from engine_queue.machines import JOB, RUN
from foundation.protection import insert_only, kept, pinned

RUN_PINS = (
    "organisation_id order_id kind item_set_id test_version_id model_version_id deployment_id precision protocol "
    "reference_digest seed supersedes_id items_total"
)
ON_A_RUN = "EXISTS (SELECT 1 FROM engine_queue_run WHERE item_set_id = OLD.item_set_id)"

BELONGS = """
    CREATE FUNCTION engine_queue_result_belongs() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NOT EXISTS (
            SELECT 1 FROM engine_queue_job job
            JOIN engine_queue_run run ON run.id = job.run_id
            JOIN engine_queue_item item ON item.item_set_id = run.item_set_id AND item.ordinal BETWEEN job.first AND job.last
            WHERE job.id = NEW.job_id AND run.id = NEW.run_id AND item.id = NEW.item_id
                AND run.organisation_id = NEW.organisation_id
        ) THEN
            RAISE EXCEPTION 'a result belongs to a job of its run and to an item of that job' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER engine_queue_result_belongs BEFORE INSERT ON engine_queue_result
        FOR EACH ROW EXECUTE FUNCTION engine_queue_result_belongs();
"""
UNDO_BELONGS = "DROP TRIGGER engine_queue_result_belongs ON engine_queue_result; DROP FUNCTION engine_queue_result_belongs();"

# A statement trigger: a COPY of a million items pays for one look.
OPEN_SET = """
    CREATE FUNCTION engine_queue_item_open_set() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM added JOIN engine_queue_itemset s ON s.id = added.item_set_id WHERE s.frozen_at IS NOT NULL) THEN
            RAISE EXCEPTION 'a frozen item set takes no more items' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER engine_queue_item_open_set AFTER INSERT ON engine_queue_item REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION engine_queue_item_open_set();
"""
UNDO_OPEN_SET = "DROP TRIGGER engine_queue_item_open_set ON engine_queue_item; DROP FUNCTION engine_queue_item_open_set();"


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
        migrations.RunSQL(BELONGS, UNDO_BELONGS),
        migrations.RunSQL(OPEN_SET, UNDO_OPEN_SET),
    ]
