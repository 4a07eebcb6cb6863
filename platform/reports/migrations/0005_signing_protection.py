"""What the code refuses, Postgres refuses: nothing is issued without its signatures, and what was issued never changes.

There is no path around it: no setting is read, and INSERT is looked at as well as UPDATE.
"""

from django.db import migrations

from foundation.protection import changeable, insert_only, kept

TABLE = "reports_reportversion"
DIGEST = "encode(sha256(convert_to({0}.content, 'UTF8')), 'hex')"

# Which meanings have to stand under a version, by the policy of its test and the priority of its order.
DEMANDED = f"""
    CREATE FUNCTION reports_demanded(v {TABLE}) RETURNS text[] LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN v.kind = 'preliminary' THEN ARRAY['preliminary']
                    WHEN t.signatures ->> o.priority = '1' THEN ARRAY['approval']
                    ELSE ARRAY['review', 'approval'] END
        FROM orders_order o, engine_queue_run r JOIN registry_testversion t ON t.id = r.test_version_id
        WHERE o.id = v.order_id AND r.id = v.run_id
    $$;
"""
# Whether the validation record that a version names stands, and is of exactly what its run was made with.
COVERED = f"""
    CREATE FUNCTION reports_covered(v {TABLE}) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM 1 FROM registry_validationrecord WHERE id = v.validation_id FOR SHARE;
        RETURN EXISTS (
            SELECT 1 FROM registry_validationrecord c
            JOIN engine_queue_run r ON r.id = v.run_id
            JOIN registry_testversion t ON t.id = r.test_version_id
            WHERE c.id = v.validation_id AND c.state = 'approved' AND t.intended_use = 'clinical'
                AND c.test_version_id = r.test_version_id AND c.model_version_id = r.model_version_id
                AND c.deployment_id = r.deployment_id AND c.precision = r.precision AND c.reference_digest = r.reference_digest
                AND NOT EXISTS (
                    SELECT 1 FROM engine_queue_result x WHERE x.run_id = r.id AND x.fingerprint <> c.environment)
        );
    END $$;
"""
MADE = f"""
    CREATE FUNCTION {TABLE}_made() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE revised boolean := NEW.kind IN ('corrected', 'amended', 'study-corrected', 'study-amended');
    BEGIN
        IF NEW.released_at IS NOT NULL OR NEW.document_id IS NOT NULL OR NEW.document_sha256 <> '' THEN
            RAISE EXCEPTION 'a report version is not made as an issued one' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.content_sha256 <> {DIGEST.format("NEW")} THEN
            RAISE EXCEPTION 'the hash of a report version is not that of its content' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.kind = 'unsigned' THEN RETURN NEW; END IF;
        IF NEW.content::jsonb #>> '{{report,kind}}' IS DISTINCT FROM NEW.kind THEN
            RAISE EXCEPTION 'the content of a report version says another kind' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.author_id IS DISTINCT FROM
            (SELECT author_id FROM reports_interpretation WHERE order_id = NEW.order_id ORDER BY number DESC LIMIT 1) THEN
            RAISE EXCEPTION 'the author of a report is who last edited its interpretation' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.kind IN ('final', 'corrected', 'amended') AND NOT reports_covered(NEW) THEN
            RAISE EXCEPTION 'no standing validation permits a % report', NEW.kind USING ERRCODE = 'check_violation';
        END IF;
        IF revised AND (NEW.reason = '' OR NOT EXISTS (
            SELECT 1 FROM {TABLE} b WHERE b.id = NEW.supersedes_id AND b.order_id = NEW.order_id AND b.state = 'released'
                AND b.kind <> 'preliminary')) THEN
            RAISE EXCEPTION 'a correction names the report that stands, and why' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT revised AND EXISTS (
            SELECT 1 FROM {TABLE} b WHERE b.order_id = NEW.order_id AND b.state = 'released'
                AND (b.kind <> 'preliminary' OR b.id IS DISTINCT FROM NEW.supersedes_id)) THEN
            RAISE EXCEPTION 'a report of this order stands: it is corrected or amended' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER {TABLE}_made BEFORE INSERT ON {TABLE} FOR EACH ROW EXECUTE FUNCTION {TABLE}_made();
"""
ISSUED = f"""
    CREATE FUNCTION {TABLE}_issued() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.state <> 'released' OR OLD.state = 'released' THEN
            IF (OLD.released_at, OLD.document_id, OLD.document_sha256)
                IS DISTINCT FROM (NEW.released_at, NEW.document_id, NEW.document_sha256) THEN
                RAISE EXCEPTION 'time and document of a report are set by its issue, once' USING ERRCODE = 'check_violation';
            END IF;
            RETURN NEW;
        END IF;
        IF NEW.kind = 'unsigned' OR EXISTS (
            SELECT unnest(reports_demanded(NEW)) EXCEPT
            SELECT s.meaning FROM reports_signature s WHERE s.report_version_id = NEW.id AND s.content_sha256 = {DIGEST.format("NEW")}
        ) THEN
            RAISE EXCEPTION 'a signature is missing' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.released_at IS NULL OR NOT EXISTS (
            SELECT 1 FROM storage_storedfile f WHERE f.id = NEW.document_id AND f.sha256 = NEW.document_sha256 AND f.kind = 'report'
        ) THEN
            RAISE EXCEPTION 'a report is issued with its document' USING ERRCODE = 'check_violation';
        END IF;
        IF NOT EXISTS (
            SELECT 1 FROM orders_order o JOIN engine_queue_run r ON r.id = NEW.run_id AND r.order_id = o.id
            WHERE o.id = NEW.order_id AND o.hold_reason = '' AND r.state = 'scored'
                AND o.state IN ('awaiting_review', 'awaiting_second_review', 'reported')
        ) THEN
            RAISE EXCEPTION 'the order of this report lets nothing be issued' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.kind IN ('final', 'corrected', 'amended') AND NOT reports_covered(NEW) THEN
            RAISE EXCEPTION 'no standing validation permits a % report', NEW.kind USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER {TABLE}_issued BEFORE UPDATE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION {TABLE}_issued();
"""
# A report is superseded by one that is issued in the same transaction, and by nothing else.
REPLACED = f"""
    CREATE FUNCTION {TABLE}_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.state = 'superseded' AND OLD.state <> 'superseded' AND NOT EXISTS (
            SELECT 1 FROM {TABLE} n WHERE n.supersedes_id = NEW.id AND n.released_at IS NOT NULL
        ) THEN
            RAISE EXCEPTION 'nothing was issued in the place of this report' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER {TABLE}_replaced AFTER UPDATE ON {TABLE} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION {TABLE}_replaced();
"""
# The proof is spent by the very row that it lets in.
SIGNED = f"""
    CREATE FUNCTION reports_signature_allowed() RETURNS trigger LANGUAGE plpgsql AS $$
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
    CREATE TRIGGER reports_signature_allowed BEFORE INSERT ON reports_signature
        FOR EACH ROW EXECUTE FUNCTION reports_signature_allowed();
"""
COLUMNS = (
    "content, {0}.content_sha256, {0}.run_id, {0}.order_id, {0}.number, {0}.kind, {0}.author_id, {0}.supersedes_id, {0}.reason, "
    "{0}.validation_id, {0}.created_at, {0}.ordering_organisation_id, {0}.performing_laboratory_id, {0}.id"
)
FROZEN = f"""
    CREATE OR REPLACE FUNCTION {TABLE}_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF (OLD.{COLUMNS.format("OLD")}) IS DISTINCT FROM (NEW.{COLUMNS.format("NEW")}) THEN
            RAISE EXCEPTION 'the content of a report version is never changed' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
"""
OLD_FROZEN = f"""
    CREATE OR REPLACE FUNCTION {TABLE}_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF (OLD.content, OLD.content_sha256, OLD.run_id, OLD.order_id, OLD.number, OLD.kind)
            IS DISTINCT FROM (NEW.content, NEW.content_sha256, NEW.run_id, NEW.order_id, NEW.number, NEW.kind) THEN
            RAISE EXCEPTION 'the content of a report version is never changed' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
"""


def undo(table: str, *names: str) -> str:
    return "".join(f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();" for name in names)


class Migration(migrations.Migration):
    dependencies = [("reports", "0004_signing"), ("audit", "0004_reads_stay")]
    operations = [
        migrations.RunSQL(*insert_only("reports_interpretation")),
        migrations.RunSQL(*insert_only("reports_review")),
        migrations.RunSQL(*insert_only("reports_signature")),
        migrations.RunSQL(*kept(TABLE)),
        migrations.RunSQL(
            changeable(TABLE, "state version released_at document_id document_sha256")[0],
            f"GRANT UPDATE ON {TABLE} TO helicase_app;",
        ),
        migrations.RunSQL(FROZEN, OLD_FROZEN),
        migrations.RunSQL(DEMANDED, f"DROP FUNCTION reports_demanded({TABLE});"),
        migrations.RunSQL(COVERED, f"DROP FUNCTION reports_covered({TABLE});"),
        migrations.RunSQL(MADE, undo(TABLE, f"{TABLE}_made")),
        migrations.RunSQL(ISSUED, undo(TABLE, f"{TABLE}_issued")),
        migrations.RunSQL(REPLACED, undo(TABLE, f"{TABLE}_replaced")),
        migrations.RunSQL(SIGNED, undo("reports_signature", "reports_signature_allowed")),
    ]
