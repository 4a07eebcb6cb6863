"""Runs and jobs can be held; whoever changes what is asked of a running job tells its worker with the commit."""

from django.db import migrations, models

WISH = """
    CREATE FUNCTION engine_queue_job_wish() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('engine_queue_wish', OLD.lease_owner);
        RETURN NULL;
    END $$;
    CREATE TRIGGER engine_queue_job_wish AFTER UPDATE ON engine_queue_job FOR EACH ROW
        WHEN (OLD.state = 'running' AND NEW.state = 'running'
              AND (OLD.rank, OLD.held, OLD.cancel_requested) IS DISTINCT FROM (NEW.rank, NEW.held, NEW.cancel_requested))
        EXECUTE FUNCTION engine_queue_job_wish();
"""
UNDO_WISH = "DROP TRIGGER engine_queue_job_wish ON engine_queue_job; DROP FUNCTION engine_queue_job_wish();"


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0003_errands")]
    operations = [
        # a worker of the former version inserts without these columns: the database knows what they begin as
        migrations.AddField("run", "held", models.BooleanField(default=False, db_default=False)),
        migrations.AddField("job", "held", models.BooleanField(default=False, db_default=False)),
        migrations.RunSQL(WISH, UNDO_WISH),
    ]
