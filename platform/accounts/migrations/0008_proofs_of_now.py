"""A proof is of the moment at which Postgres writes it, and is used at the moment at which it is used, whatever the row says."""

from django.db import migrations, models
from django.db.models.functions import Now

NOW = """
    CREATE FUNCTION accounts_stepup_of_now() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            IF OLD.used_at IS NULL AND NEW.used_at IS NOT NULL THEN NEW.used_at := clock_timestamp(); END IF;
            RETURN NEW;
        END IF;
        IF NEW.used_at IS NOT NULL THEN
            RAISE EXCEPTION 'a proof begins unused' USING ERRCODE = 'check_violation';
        END IF;
        NEW.at := clock_timestamp();
        RETURN NEW;
    END $$;
    CREATE TRIGGER accounts_stepup_of_now BEFORE INSERT OR UPDATE ON accounts_stepup
        FOR EACH ROW EXECUTE FUNCTION accounts_stepup_of_now();
    CREATE FUNCTION accounts_just_proven(about text, pk text, sha256 text, person uuid) RETURNS boolean LANGUAGE sql VOLATILE AS $$
        SELECT EXISTS (
            SELECT 1 FROM accounts_stepup WHERE user_id = person AND object_type = about AND object_id = pk
                AND content_sha256 = sha256 AND used_at >= transaction_timestamp() AND at > clock_timestamp() - interval '2 minutes')
    $$;
"""
UNDO = """
    DROP FUNCTION accounts_just_proven(text, text, text, uuid);
    DROP TRIGGER accounts_stepup_of_now ON accounts_stepup; DROP FUNCTION accounts_stepup_of_now();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_break_glass")]
    operations = [
        migrations.AlterField("stepup", "at", models.DateTimeField(db_default=Now())),
        migrations.RunSQL(NOW, UNDO),
    ]
