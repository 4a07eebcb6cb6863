"""How long records are kept, legal holds, and the one way in which a record is deleted: functions that look at every condition again.

The application may not delete orders, results, reports and signatures. It may ask: a function of the owner locks the record, looks
whether its period is over and nothing blocks it, writes an event with ids and digests, and deletes. The triggers that keep rows let a
deletion pass only beside a mark of the same transaction, which these functions alone can set. Rows of the audit trail are never among it.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from foundation.protection import changeable, insert_only, kept, pinned

DEFAULTS = {"orders": 3653, "uploads": 30, "drafts": 30, "notices": 731, "questions": 731}
FLOORS = {"orders": 731, "uploads": 7, "drafts": 7, "notices": 90, "questions": 90}
LIFTED = "lifted_at lifted_by_id lifted_words"

# Tables of which rows go with an order, a question, an upload, a draft or a notice; their triggers know of the mark.
ERASABLE = (
    "engine_queue_result engine_queue_job engine_queue_run engine_queue_item engine_queue_itemset casefile_comment casefile_attachment "
    "casefile_draft orders_lateentry orders_downtimeline orders_delaynotice orders_demotion orders_escalation orders_hold orders_holdrequest orders_identitycheck "
    "orders_specimencorrection orders_specimen orders_manifestrow orders_manifest orders_intake orders_intakerecord "
    "orders_intakecheckpoint orders_order interop_fhirorder reports_signature reports_review reports_interpretation "
    "reports_reportversion reports_critical reports_criticalcall reports_criticallevel reports_reportdelivery reports_deliverynote "
    "reports_recipient reports_track questions_question notices_notice notices_receipt notices_delivery storage_storedfile"
).split()


def cases(values):
    return " ".join(f"WHEN '{name}' THEN {days}" for name, days in values.items())


MARK = """
    CREATE TABLE oversight_erasure (transaction bigint PRIMARY KEY);
    REVOKE ALL ON oversight_erasure FROM PUBLIC, helicase_app;
    CREATE FUNCTION retention_erasing() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT EXISTS (SELECT 1 FROM oversight_erasure WHERE transaction = pg_current_xact_id()::text::bigint)
    $$;
"""
UNMARK = "DROP FUNCTION retention_erasing(); DROP TABLE oversight_erasure;"
LET_PASS = f"""
    DO $do$ DECLARE kept record; BEGIN
        FOR kept IN SELECT DISTINCT p.oid, pg_get_functiondef(p.oid) AS body FROM pg_trigger t
                JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_class c ON c.oid = t.tgrelid
                WHERE NOT t.tgisinternal AND t.tgtype & 8 = 8 AND c.relname = ANY('{{{",".join(ERASABLE)}}}') LOOP
            EXECUTE regexp_replace(kept.body, '\\mBEGIN\\M',
                'BEGIN IF TG_OP = ''DELETE'' AND retention_erasing() THEN RETURN OLD; END IF;');
        END LOOP;
    END $do$;
"""
PERIODS = f"""
    CREATE FUNCTION retention_days(place uuid, class text) RETURNS integer LANGUAGE sql STABLE AS $$
        SELECT COALESCE((SELECT days FROM oversight_retentionrule WHERE organisation_id = place AND record_class = class
            ORDER BY id DESC LIMIT 1), CASE class {cases(DEFAULTS)} END)
    $$;
    CREATE FUNCTION retention_over(place uuid, class text, since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT COALESCE(since + make_interval(days => retention_days(place, class)) <= clock_timestamp(), false)
    $$;
    CREATE FUNCTION retention_held(place uuid, said_order uuid, said_patient uuid, at timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT EXISTS (SELECT 1 FROM oversight_legalhold h WHERE h.organisation_id = place AND h.lifted_at IS NULL AND CASE h.kind
            WHEN 'laboratory' THEN true
            WHEN 'period' THEN at >= h.first_at AND at < h.until_at
            WHEN 'order' THEN h.order_id = said_order
            WHEN 'patient' THEN h.patient_id = said_patient OR EXISTS (SELECT 1 FROM orders_move m WHERE m.kind = 'order'
                AND m.row = said_order::text AND h.patient_id IN (m.origin_id, m.target_id)) END)
    $$;
    CREATE FUNCTION retention_since(o orders_order) RETURNS timestamptz LANGUAGE sql STABLE AS $$
        SELECT GREATEST(COALESCE(o.ended_at, o.placed_at), (SELECT max(released_at) FROM reports_reportversion WHERE order_id = o.id))
    $$;
    CREATE FUNCTION retention_blocks(o orders_order) RETURNS text[] LANGUAGE sql STABLE AS $$
        SELECT array_remove(ARRAY[
            CASE WHEN retention_held(o.performing_laboratory_id, o.id, o.patient_id, o.placed_at) THEN 'legal-hold' END,
            CASE WHEN o.state NOT IN ('reported', 'cancelled', 'rejected', 'entered_in_error') THEN 'open' END,
            CASE WHEN o.attention <> '' THEN 'attention' END,
            CASE WHEN o.hold_reason <> '' OR EXISTS (SELECT 1 FROM orders_holdrequest WHERE order_id = o.id AND state = 'open')
                THEN 'on-hold' END,
            CASE WHEN EXISTS (SELECT 1 FROM orders_identitycheck WHERE order_id = o.id AND state = 'open') THEN 'identity' END,
            CASE WHEN EXISTS (SELECT 1 FROM orders_identitycheck c WHERE c.order_id = o.id AND (
                EXISTS (SELECT 1 FROM orders_move WHERE check_of_id = c.id)
                OR EXISTS (SELECT 1 FROM orders_patientchange WHERE check_of_id = c.id))) THEN 'identity-decision' END,
            CASE WHEN EXISTS (SELECT 1 FROM reports_reportversion WHERE order_id = o.id AND state = 'draft' AND kind <> 'unsigned')
                THEN 'signatures' END,
            CASE WHEN EXISTS (SELECT 1 FROM engine_queue_run WHERE order_id = o.id AND state NOT IN ('scored', 'cancelled'))
                THEN 'running' END,
            CASE WHEN EXISTS (SELECT 1 FROM orders_order l WHERE o.id IN (l.replaces_id, l.repeats_id, l.conflicts_with_id))
                THEN 'linked' END,
            CASE WHEN EXISTS (SELECT 1 FROM notices_notice n JOIN notices_delivery d ON d.notice_id = n.id
                WHERE n.order_id = o.id AND d.state <> 'sent') OR EXISTS (SELECT 1 FROM reports_reportdelivery d WHERE d.order_id = o.id
                AND (d.state IN ('queued', 'failed') OR d.news <> 'issued' AND d.state <> 'acknowledged')
                AND NOT EXISTS (SELECT 1 FROM reports_deliverynote WHERE delivery_id = d.id AND kind = 'told')) THEN 'delivery' END,
            CASE WHEN EXISTS (SELECT 1 FROM reports_critical WHERE order_id = o.id AND state = 'open') THEN 'critical' END,
            CASE WHEN EXISTS (SELECT 1 FROM orders_downtimeline l JOIN orders_downtime d ON d.id = l.downtime_id
                WHERE o.id IN (l.order_id, l.other_id) AND d.state = 'open') THEN 'downtime' END], NULL)
    $$;
"""
NO_PERIODS = """
    DROP FUNCTION retention_blocks(orders_order); DROP FUNCTION retention_since(orders_order);
    DROP FUNCTION retention_held(uuid, uuid, uuid, timestamptz); DROP FUNCTION retention_over(uuid, text, timestamptz);
    DROP FUNCTION retention_days(uuid, text);
"""
PARTS = """
    CREATE FUNCTION retention_begin() RETURNS void LANGUAGE sql AS $$
        INSERT INTO oversight_erasure VALUES (pg_current_xact_id()::text::bigint)
    $$;
    CREATE FUNCTION retention_end(kind text, target text, place uuid, said jsonb) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM oversight_erasure;
        SET CONSTRAINTS ALL IMMEDIATE;  -- what still rests on it stops everything
        SET CONSTRAINTS ALL DEFERRED;
        INSERT INTO audit_event (at, organisation_id, actor_name, action, object_type, object_id, reason, facts)
            VALUES (clock_timestamp(), place, 'retention', 'retention.deleted', kind, target, '', said);
    END $$;
    CREATE FUNCTION retention_runs(ids uuid[]) RETURNS void LANGUAGE sql AS $$
        DELETE FROM engine_queue_result WHERE run_id = ANY(ids);
        DELETE FROM engine_queue_job WHERE run_id = ANY(ids);
        DELETE FROM engine_queue_run WHERE id = ANY(ids);
    $$;
    CREATE FUNCTION retention_sets(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE free uuid[] := ARRAY(SELECT s.id FROM engine_queue_itemset s WHERE s.id = ANY(ids)
        AND NOT EXISTS (SELECT 1 FROM engine_queue_run WHERE item_set_id = s.id)
        AND NOT EXISTS (SELECT 1 FROM orders_intake WHERE item_set_id = s.id));
    BEGIN
        DELETE FROM engine_queue_item WHERE item_set_id = ANY(free);
        DELETE FROM engine_queue_itemset WHERE id = ANY(free);
    END $$;
    CREATE FUNCTION retention_files(ids uuid[]) RETURNS jsonb LANGUAGE plpgsql AS $$
    DECLARE gone jsonb;
    BEGIN
        WITH free AS (DELETE FROM storage_storedfile f WHERE f.id = ANY(ids)
            AND NOT EXISTS (SELECT 1 FROM orders_intake WHERE file_id = f.id)
            AND NOT EXISTS (SELECT 1 FROM casefile_attachment WHERE file_id = f.id)
            AND NOT EXISTS (SELECT 1 FROM reports_reportversion WHERE document_id = f.id)
            AND NOT EXISTS (SELECT 1 FROM orders_manifest WHERE file_id = f.id)
            AND NOT EXISTS (SELECT 1 FROM orders_manifestrow WHERE file_id = f.id)
            AND NOT EXISTS (SELECT 1 FROM inspection_auditreport WHERE pack_id = f.id) RETURNING f.sha256)
        SELECT COALESCE(jsonb_agg(sha256 ORDER BY sha256), '[]') INTO gone FROM free;
        RETURN gone;
    END $$;
    CREATE FUNCTION retention_intakes(ids uuid[]) RETURNS jsonb LANGUAGE plpgsql AS $$
    DECLARE sets uuid[]; files uuid[];
    BEGIN
        SELECT array_agg(item_set_id), array_agg(file_id) INTO sets, files FROM orders_intake WHERE id = ANY(ids);
        DELETE FROM orders_intakerecord WHERE intake_id = ANY(ids);
        DELETE FROM orders_intakecheckpoint WHERE intake_id = ANY(ids);
        DELETE FROM orders_intake WHERE id = ANY(ids);
        PERFORM retention_sets(sets);
        RETURN retention_files(files);
    END $$;
    REVOKE EXECUTE ON FUNCTION retention_begin(), retention_end(text, text, uuid, jsonb), retention_runs(uuid[]), retention_sets(uuid[]),
        retention_files(uuid[]), retention_intakes(uuid[]) FROM PUBLIC;
"""
NO_PARTS = """
    DROP FUNCTION retention_begin(); DROP FUNCTION retention_end(text, text, uuid, jsonb); DROP FUNCTION retention_runs(uuid[]);
    DROP FUNCTION retention_sets(uuid[]); DROP FUNCTION retention_files(uuid[]); DROP FUNCTION retention_intakes(uuid[]);
"""
ORDER = """
    CREATE FUNCTION retention_delete_order(target uuid) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE o orders_order; runs uuid[]; sets uuid[]; files uuid[]; manifests uuid[]; reports jsonb; gone jsonb;
    BEGIN
        SELECT * INTO o FROM orders_order WHERE id = target FOR UPDATE;
        IF NOT FOUND OR NOT retention_over(o.performing_laboratory_id, 'orders', retention_since(o))
            OR cardinality(retention_blocks(o)) > 0 THEN RETURN false; END IF;
        PERFORM retention_begin();
        runs := ARRAY(SELECT id FROM engine_queue_run WHERE order_id = target
            UNION SELECT run_id FROM reports_track WHERE order_id = target);
        sets := ARRAY(SELECT item_set_id FROM engine_queue_run WHERE id = ANY(runs));
        reports := (SELECT COALESCE(jsonb_agg(jsonb_build_array(number, content_sha256, document_sha256) ORDER BY number), '[]')
            FROM reports_reportversion WHERE order_id = target AND released_at IS NOT NULL);
        files := ARRAY(SELECT document_id FROM reports_reportversion WHERE order_id = target AND document_id IS NOT NULL
            UNION SELECT file_id FROM casefile_attachment WHERE order_id = target
            UNION SELECT file_id FROM orders_manifestrow WHERE order_id = target AND file_id IS NOT NULL);
        DELETE FROM reports_deliverynote WHERE delivery_id IN (SELECT id FROM reports_reportdelivery WHERE order_id = target);
        DELETE FROM reports_reportdelivery WHERE order_id = target;
        DELETE FROM reports_recipient WHERE order_id = target;
        DELETE FROM reports_criticalcall WHERE critical_id IN (SELECT id FROM reports_critical WHERE order_id = target);
        DELETE FROM reports_criticallevel WHERE critical_id IN (SELECT id FROM reports_critical WHERE order_id = target);
        DELETE FROM reports_critical WHERE order_id = target;
        DELETE FROM reports_signature WHERE report_version_id IN (SELECT id FROM reports_reportversion WHERE order_id = target);
        DELETE FROM reports_review WHERE order_id = target;
        DELETE FROM reports_interpretation WHERE order_id = target;
        DELETE FROM reports_reportversion WHERE order_id = target;
        DELETE FROM reports_track WHERE order_id = target;
        PERFORM retention_runs(runs);
        DELETE FROM casefile_comment WHERE order_id = target;
        DELETE FROM casefile_attachment WHERE order_id = target;
        DELETE FROM casefile_draft WHERE order_id = target OR intake_id = o.intake_id AND state <> 'open';
        DELETE FROM orders_downtimeline WHERE target IN (order_id, other_id);
        DELETE FROM orders_lateentry WHERE order_id = target;
        DELETE FROM orders_delaynotice WHERE order_id = target;
        DELETE FROM orders_demotion WHERE order_id = target;
        DELETE FROM orders_escalation WHERE order_id = target;
        DELETE FROM orders_hold WHERE order_id = target;
        DELETE FROM orders_holdrequest WHERE order_id = target;
        DELETE FROM orders_identitycheck WHERE order_id = target;
        DELETE FROM interop_fhirorder WHERE order_id = target OR intake_id = o.intake_id;
        manifests := ARRAY(SELECT manifest_id FROM orders_manifestrow WHERE order_id = target);
        DELETE FROM orders_manifestrow WHERE order_id = target OR intake_id = o.intake_id;
        DELETE FROM orders_specimencorrection WHERE order_id = target;
        DELETE FROM orders_order WHERE id = target;
        manifests := ARRAY(SELECT m FROM unnest(manifests) m WHERE NOT EXISTS (
            SELECT 1 FROM orders_manifestrow r WHERE r.manifest_id = m AND r.order_id IS NOT NULL));
        files := files || ARRAY(SELECT file_id FROM orders_manifest WHERE id = ANY(manifests))
            || ARRAY(SELECT file_id FROM orders_manifestrow WHERE manifest_id = ANY(manifests) AND file_id IS NOT NULL);
        DELETE FROM orders_manifestrow WHERE manifest_id = ANY(manifests);
        DELETE FROM orders_manifest WHERE id = ANY(manifests);
        IF NOT EXISTS (SELECT 1 FROM orders_order WHERE specimen_id = o.specimen_id) THEN
            DELETE FROM orders_specimencorrection WHERE specimen_id = o.specimen_id;
            DELETE FROM orders_specimen WHERE id = o.specimen_id;
        END IF;
        gone := retention_intakes(ARRAY[o.intake_id]) || retention_files(files);
        PERFORM retention_sets(sets);
        PERFORM retention_end('orders.order', target::text, o.performing_laboratory_id, jsonb_build_object('class', 'orders',
            'accession', o.accession, 'runs', cardinality(runs), 'reports', reports, 'files', gone,
            'days', retention_days(o.performing_laboratory_id, 'orders')));
        RETURN true;
    END $$;
"""
OTHERS = """
    CREATE FUNCTION retention_delete_question(target uuid) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE q questions_question; sets uuid[];
    BEGIN
        SELECT * INTO q FROM questions_question WHERE id = target FOR UPDATE;
        IF NOT FOUND OR q.attention <> '' OR NOT retention_over(q.organisation_id, 'questions', q.ended_at)
            OR retention_held(q.organisation_id, NULL, NULL, q.asked_at) THEN RETURN false; END IF;
        PERFORM retention_begin();
        sets := ARRAY(SELECT item_set_id FROM engine_queue_run WHERE id = q.run_id);
        DELETE FROM questions_question WHERE id = target;
        PERFORM retention_runs(ARRAY[q.run_id]);
        PERFORM retention_sets(sets);
        PERFORM retention_end('questions.question', target::text, q.organisation_id,
            jsonb_build_object('class', 'questions', 'content', q.content_sha256));
        RETURN true;
    END $$;
    CREATE FUNCTION retention_delete_upload(target uuid) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE i orders_intake; gone jsonb;
    BEGIN
        SELECT * INTO i FROM orders_intake WHERE id = target FOR UPDATE;
        IF NOT FOUND OR i.state IN ('waiting', 'checking')
            OR NOT retention_over(i.performing_laboratory_id, 'uploads', GREATEST(i.checked_at, i.created_at))
            OR retention_held(i.performing_laboratory_id, NULL, NULL, i.created_at)
            OR EXISTS (SELECT 1 FROM orders_order WHERE intake_id = target)
            OR EXISTS (SELECT 1 FROM casefile_draft WHERE intake_id = target)
            OR EXISTS (SELECT 1 FROM interop_fhirorder WHERE intake_id = target)
            OR EXISTS (SELECT 1 FROM orders_manifestrow WHERE intake_id = target) THEN RETURN false; END IF;
        PERFORM retention_begin();
        gone := retention_intakes(ARRAY[target]);
        PERFORM retention_end('orders.intake', target::text, i.performing_laboratory_id,
            jsonb_build_object('class', 'uploads', 'state', i.state, 'files', gone));
        RETURN true;
    END $$;
    CREATE FUNCTION retention_delete_draft(target uuid) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE d casefile_draft;
    BEGIN
        SELECT * INTO d FROM casefile_draft WHERE id = target FOR UPDATE;
        IF NOT FOUND OR d.state = 'open' OR NOT retention_over(d.organisation_id, 'drafts', d.ended_at)
            OR retention_held(d.organisation_id, d.order_id, NULL, d.created_at) THEN RETURN false; END IF;
        PERFORM retention_begin();
        DELETE FROM casefile_draft WHERE id = target;
        PERFORM retention_end('casefile.draft', target::text, d.organisation_id, jsonb_build_object('class', 'drafts', 'state', d.state));
        RETURN true;
    END $$;
    CREATE FUNCTION retention_delete_notice(target uuid) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE n notices_notice;
    BEGIN
        SELECT * INTO n FROM notices_notice WHERE id = target FOR UPDATE;
        IF NOT FOUND OR NOT retention_over(n.organisation_id, 'notices', n.at)
            OR retention_held(n.organisation_id, n.order_id, (SELECT patient_id FROM orders_order WHERE id = n.order_id), n.at)
            OR EXISTS (SELECT 1 FROM notices_delivery WHERE notice_id = target AND state = 'queued') THEN RETURN false; END IF;
        PERFORM retention_begin();
        DELETE FROM notices_delivery WHERE notice_id = target;
        DELETE FROM notices_receipt WHERE notice_id = target;
        DELETE FROM notices_notice WHERE id = target;
        PERFORM retention_end('notices.notice', target::text, n.organisation_id, jsonb_build_object('class', 'notices', 'kind', n.kind));
        RETURN true;
    END $$;
"""
NAMES = ("order", "question", "upload", "draft", "notice")
DELETING = ", ".join(f"retention_delete_{name}(uuid)" for name in NAMES)
GRANTED = f"REVOKE EXECUTE ON FUNCTION {DELETING} FROM PUBLIC; GRANT EXECUTE ON FUNCTION {DELETING} TO helicase_app;"
NONE = " ".join(f"DROP FUNCTION retention_delete_{name}(uuid);" for name in NAMES)


def person(**more):
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL, **more)


class Migration(migrations.Migration):
    dependencies = [
        ("oversight", "0001_initial"),
        ("accounts", "0007_break_glass"),
        ("audit", "0006_by_transaction"),
        ("casefile", "0002_protection"),
        ("engine_queue", "0010_runs_beside_orders"),
        ("inspection", "0002_protection"),
        ("interop", "0002_fhir_orders"),
        ("notices", "0004_addresses"),
        ("orders", "0028_downtimes"),
        ("questions", "0001_initial"),
        ("reports", "0010_delivery_protection"),
        ("storage", "0002_protection"),
    ]
    operations = [
        migrations.CreateModel(
            "RetentionRule",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("record_class", models.CharField(max_length=20)),
                ("days", models.PositiveIntegerField()),
                ("words", models.CharField(max_length=500)),
                ("set_by", person()),
                ("set_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["organisation_id", "record_class", "-id"], name="retention_rule_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(
                            *[Q(record_class=name, days__gte=floor, days__lte=36525) for name, floor in FLOORS.items()], _connector=Q.OR
                        ),
                        name="retention_not_below_its_floor",
                    ),
                    models.CheckConstraint(condition=~Q(words=""), name="retention_rule_has_a_reason"),
                ],
            },
        ),
        migrations.CreateModel(
            "LegalHold",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organisation_id", models.UUIDField()),
                ("kind", models.CharField(max_length=12)),
                ("order_id", models.UUIDField(null=True)),
                ("patient_id", models.UUIDField(null=True)),
                ("first_at", models.DateTimeField(null=True)),
                ("until_at", models.DateTimeField(null=True)),
                ("about", models.CharField(max_length=200)),
                ("words", models.CharField(max_length=500)),
                ("placed_by", person()),
                ("placed_at", models.DateTimeField()),
                ("lifted_by", person(null=True)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_words", models.CharField(blank=True, default="", max_length=500)),
            ],
            options={
                "indexes": [models.Index(fields=["organisation_id"], condition=Q(lifted_at=None), name="legal_hold_standing")],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(kind="laboratory", order_id=None, patient_id=None, first_at=None, until_at=None)
                        | Q(kind="order", order_id__isnull=False, patient_id=None, first_at=None, until_at=None)
                        | Q(kind="patient", order_id=None, patient_id__isnull=False, first_at=None, until_at=None)
                        | Q(kind="period", order_id=None, patient_id=None, until_at__gt=F("first_at")),
                        name="legal_hold_is_on_one_thing",
                    ),
                    models.CheckConstraint(condition=~Q(words=""), name="legal_hold_has_a_reason"),
                    models.CheckConstraint(
                        condition=Q(lifted_at=None, lifted_by=None, lifted_words="")
                        | Q(lifted_at__isnull=False, lifted_by__isnull=False) & ~Q(lifted_words=""),
                        name="legal_hold_lifting_is_whole",
                    ),
                    models.CheckConstraint(condition=~Q(lifted_by=F("placed_by")), name="legal_hold_lifted_by_another"),
                ],
            },
        ),
        migrations.RunSQL(*insert_only("oversight_retentionrule")),
        migrations.RunSQL(*changeable("oversight_legalhold", LIFTED)),
        migrations.RunSQL(
            *pinned(
                "oversight_legalhold",
                "id organisation_id kind order_id patient_id first_at until_at about words placed_by_id placed_at",
                name="placed_pinned",
            )
        ),
        migrations.RunSQL(*pinned("oversight_legalhold", LIFTED, when="OLD.lifted_at IS NOT NULL", name="lifted_once")),
        migrations.RunSQL(*kept("oversight_legalhold")),
        migrations.RunSQL(MARK, UNMARK),
        migrations.RunSQL(LET_PASS, migrations.RunSQL.noop),
        migrations.RunSQL(PERIODS, NO_PERIODS),
        migrations.RunSQL(PARTS, NO_PARTS),
        migrations.RunSQL(ORDER + OTHERS + GRANTED, NONE),
    ]
