"""A signature is of the moment at which Postgres writes it, and of a person whose role includes it."""

from django.db import migrations, models
from django.db.models.functions import Now

TABLE = "reports_reportversion"
DIGEST = "encode(sha256(convert_to({0}.content, 'UTF8')), 'hex')"

# Which roles may sign so, as `accounts.roles` has it; a test compares both.
SIGNERS = """
    CREATE FUNCTION reports_signers(meaning text, signatures integer) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN meaning = 'approval' AND signatures = 2 THEN ARRAY['director'] ELSE ARRAY['reviewer', 'director'] END
    $$;
"""
SIGNED = f"""
    CREATE OR REPLACE FUNCTION reports_signature_allowed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE v {TABLE}; demanded text[];
    BEGIN
        NEW.at := clock_timestamp();
        SELECT * INTO v FROM {TABLE} WHERE id = NEW.report_version_id;
        IF v.id IS NULL OR v.state <> 'draft' OR v.kind = 'unsigned' THEN
            RAISE EXCEPTION 'this report version does not wait for signatures' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.content_sha256 <> {DIGEST.format("v")} OR NEW.organisation_id <> v.performing_laboratory_id THEN
            RAISE EXCEPTION 'a signature is over the content of its version' USING ERRCODE = 'check_violation';
        END IF;
        demanded := reports_demanded(v);
        IF NOT NEW.meaning = ANY(demanded) THEN
            RAISE EXCEPTION 'nobody asks for a signature of this meaning' USING ERRCODE = 'check_violation';
        END IF;
        IF cardinality(demanded) = 2 AND NEW.signer_id = v.author_id THEN
            RAISE EXCEPTION 'the author does not sign where two people do' USING ERRCODE = 'check_violation';
        END IF;
        IF cardinality(demanded) = 2 AND NEW.meaning = 'approval' AND NOT EXISTS (
            SELECT 1 FROM reports_signature s WHERE s.report_version_id = v.id AND s.meaning = 'review') THEN
            RAISE EXCEPTION 'the review is signed before the approval' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT EXISTS (
            SELECT 1 FROM accounts_user u JOIN accounts_membership m ON m.user_id = u.id
            WHERE u.id = NEW.signer_id AND u.is_active AND u.responsible_id IS NULL AND u.name = NEW.printed_name
                AND m.organisation_id = v.performing_laboratory_id AND m.ended_at IS NULL AND m.role = ANY(reports_signers(NEW.meaning, cardinality(demanded)))
        ) THEN
            RAISE EXCEPTION 'a person of the laboratory whose role includes it signs under his own name' USING ERRCODE = 'check_violation';
        END IF;
        UPDATE accounts_stepup SET used_at = NEW.at
        WHERE id = NEW.step_up_id AND used_at IS NULL AND user_id = NEW.signer_id AND method = NEW.method
            AND object_type = 'reports.reportversion' AND object_id = v.id::text AND content_sha256 = NEW.content_sha256
            AND at BETWEEN NEW.at - interval '2 minutes' AND NEW.at;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the signer has not just proven who he is, for this' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
"""
OLD_SIGNED = f"""
    CREATE OR REPLACE FUNCTION reports_signature_allowed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE v {TABLE}; demanded text[];
    BEGIN
        SELECT * INTO v FROM {TABLE} WHERE id = NEW.report_version_id;
        IF v.id IS NULL OR v.state <> 'draft' OR v.kind = 'unsigned' THEN
            RAISE EXCEPTION 'this report version does not wait for signatures' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.content_sha256 <> {DIGEST.format("v")} OR NEW.organisation_id <> v.performing_laboratory_id THEN
            RAISE EXCEPTION 'a signature is over the content of its version' USING ERRCODE = 'check_violation';
        END IF;
        demanded := reports_demanded(v);
        IF NOT NEW.meaning = ANY(demanded) THEN
            RAISE EXCEPTION 'nobody asks for a signature of this meaning' USING ERRCODE = 'check_violation';
        END IF;
        IF cardinality(demanded) = 2 AND NEW.signer_id = v.author_id THEN
            RAISE EXCEPTION 'the author does not sign where two people do' USING ERRCODE = 'check_violation';
        END IF;
        IF cardinality(demanded) = 2 AND NEW.meaning = 'approval' AND NOT EXISTS (
            SELECT 1 FROM reports_signature s WHERE s.report_version_id = v.id AND s.meaning = 'review') THEN
            RAISE EXCEPTION 'the review is signed before the approval' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT EXISTS (
            SELECT 1 FROM accounts_user u JOIN accounts_membership m ON m.user_id = u.id
            WHERE u.id = NEW.signer_id AND u.is_active AND u.responsible_id IS NULL AND u.name = NEW.printed_name
                AND m.organisation_id = v.performing_laboratory_id AND m.ended_at IS NULL AND m.role <> 'service'
        ) THEN
            RAISE EXCEPTION 'a person of the laboratory signs under his own name' USING ERRCODE = 'check_violation';
        END IF;
        UPDATE accounts_stepup SET used_at = NEW.at
        WHERE id = NEW.step_up_id AND used_at IS NULL AND user_id = NEW.signer_id AND method = NEW.method
            AND object_type = 'reports.reportversion' AND object_id = v.id::text AND content_sha256 = NEW.content_sha256
            AND at BETWEEN NEW.at - interval '2 minutes' AND NEW.at;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the signer has not just proven who he is, for this' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0010_delivery_protection"), ("accounts", "0008_proofs_of_now")]
    operations = [
        migrations.AlterField("signature", "at", models.DateTimeField(db_default=Now())),
        migrations.RunSQL(SIGNERS, "DROP FUNCTION reports_signers(text, integer);"),
        migrations.RunSQL(SIGNED, OLD_SIGNED),
    ]
