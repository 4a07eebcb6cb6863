"""A validation is approved by who has just proven himself, for exactly these components; Postgres sees to it."""

from django.db import migrations

TABLE = "registry_validationrecord"
PROVEN = f"""
    CREATE FUNCTION {TABLE}_proven() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE said text := concat_ws(E'\\n', NEW.test_version_id, NEW.model_version_id, NEW.deployment_id, NEW.precision,
        NEW.reference_digest, NEW.environment, NEW.statement);
    BEGIN
        IF NOT accounts_just_proven('registry.validationrecord', NEW.id::text,
                encode(sha256(convert_to(said, 'UTF8')), 'hex'), NEW.decided_by_id) THEN
            RAISE EXCEPTION 'the director has not just proven who he is, for this' USING ERRCODE = 'check_violation';
        END IF;
        NEW.decided_at := clock_timestamp();
        RETURN NEW;
    END $$;
    CREATE TRIGGER {TABLE}_proven BEFORE UPDATE ON {TABLE} FOR EACH ROW
        WHEN (NEW.state = 'approved' AND OLD.state <> 'approved') EXECUTE FUNCTION {TABLE}_proven();
"""
UNDO = f"DROP TRIGGER {TABLE}_proven ON {TABLE}; DROP FUNCTION {TABLE}_proven();"


class Migration(migrations.Migration):
    dependencies = [("registry", "0013_frequencies"), ("accounts", "0008_proofs_of_now")]
    operations = [migrations.RunSQL(PROVEN, UNDO)]
