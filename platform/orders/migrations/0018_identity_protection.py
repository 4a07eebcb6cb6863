"""A row changes its patient, and a record its name, only together with the row that says by which decision.

Neither the application nor its owner has another way: the evidence must be of the same transaction, which the database writes itself,
and it must belong to a merge that stands, to the undoing of one, or to the settled check of an order that is not accepted yet.
"""

from django.db import migrations

from foundation.protection import changeable, insert_only, pinned
from orders.machines import IDENTITY_CHECK, MERGE, ORDER

ORDER_PINS = (
    "specimen_id test_version_id intake_id ordering_organisation_id performing_laboratory_id accession "
    "items_total content_hash placer_system placer_number placed_by_id placed_at"
)
WITH_PATIENT = f"patient_id stated_mrn {ORDER_PINS}"
ACCEPTED = "OLD.state NOT IN ('draft', 'submitted')"
SPECIMEN_PINS = "identifier type source collected_at"
OF_AN_ORDER = "EXISTS (SELECT 1 FROM orders_order WHERE specimen_id = OLD.id AND state NOT IN ('draft', 'submitted'))"
NOW = "pg_current_xact_id()::text::bigint"  # of the whole transaction, whatever savepoint this is in
MOVED = {"orders_order": "order", "orders_specimen": "specimen", "orders_patientidentifier": "identifier"}

STAMP = f"""
    CREATE FUNCTION orders_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.transaction := {NOW};
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_patientchange_stamp BEFORE INSERT ON orders_patientchange FOR EACH ROW EXECUTE FUNCTION orders_stamp();
    CREATE TRIGGER orders_move_stamp BEFORE INSERT ON orders_move FOR EACH ROW EXECUTE FUNCTION orders_stamp();
"""
UNDO_STAMP = """
    DROP TRIGGER orders_patientchange_stamp ON orders_patientchange; DROP TRIGGER orders_move_stamp ON orders_move;
    DROP FUNCTION orders_stamp();
"""
DECIDED = """
    CREATE FUNCTION orders_move_decided() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.merge_id IS NOT NULL AND NOT NEW.back AND EXISTS (
            SELECT 1 FROM orders_merge m WHERE m.id = NEW.merge_id AND m.state = 'standing'
                AND m.merged_id = NEW.origin_id AND m.survivor_id = NEW.target_id) THEN RETURN NEW;
        END IF;
        IF NEW.merge_id IS NOT NULL AND NEW.back AND EXISTS (
            SELECT 1 FROM orders_merge m JOIN orders_move f ON f.merge_id = m.id AND NOT f.back
            WHERE m.id = NEW.merge_id AND m.state = 'undone' AND f.kind = NEW.kind AND f.row = NEW.row
                AND f.origin_id = NEW.target_id AND f.target_id = NEW.origin_id) THEN RETURN NEW;
        END IF;
        IF NEW.check_of_id IS NOT NULL AND NOT NEW.back AND EXISTS (
            SELECT 1 FROM orders_identitycheck c JOIN orders_order o ON o.id = c.order_id
            WHERE c.id = NEW.check_of_id AND c.state = 'settled' AND c.known_id = NEW.target_id AND o.state = 'submitted'
                AND o.patient_id = NEW.origin_id
                AND (NEW.kind, NEW.row) IN (('order', o.id::text), ('specimen', o.specimen_id::text))) THEN RETURN NEW;
        END IF;
        RAISE EXCEPTION 'no decision moves this row from that patient to this one' USING ERRCODE = 'check_violation';
    END $$;
    CREATE TRIGGER orders_move_decided BEFORE INSERT ON orders_move FOR EACH ROW EXECUTE FUNCTION orders_move_decided();
"""
UNDO_DECIDED = "DROP TRIGGER orders_move_decided ON orders_move; DROP FUNCTION orders_move_decided();"
CORRECTED = f"""
    CREATE FUNCTION orders_patient_corrected() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        was jsonb := jsonb_build_object('family_name', OLD.family_name, 'given_name', OLD.given_name,
                                           'birth_date', OLD.birth_date::text, 'sex', OLD.sex);
        becomes jsonb := jsonb_build_object('family_name', NEW.family_name, 'given_name', NEW.given_name,
                                          'birth_date', NEW.birth_date::text, 'sex', NEW.sex);
    BEGIN
        IF NEW.organisation_id <> OLD.organisation_id THEN
            RAISE EXCEPTION 'orders_patient is pinned: a record stays with its organisation' USING ERRCODE = 'check_violation';
        END IF;
        IF was <> becomes AND NOT EXISTS (SELECT 1 FROM orders_patientchange c WHERE c.patient_id = OLD.id
                AND c.transaction = {NOW} AND c.before = was AND c.after = becomes) THEN
            RAISE EXCEPTION 'orders_patient is pinned: a record is corrected together with what it said' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_patient_corrected BEFORE UPDATE ON orders_patient FOR EACH ROW EXECUTE FUNCTION orders_patient_corrected();
"""
UNDO_CORRECTED = "DROP TRIGGER orders_patient_corrected ON orders_patient; DROP FUNCTION orders_patient_corrected();"

def moved(table: str, kind: str) -> tuple[str, str]:
    """SQL that lets a row change its patient only beside its move of the same transaction, and its undoing."""
    name = f"{table}_moved"
    forward = f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.patient_id <> OLD.patient_id AND NOT EXISTS (SELECT 1 FROM orders_move m
                    WHERE m.kind = '{kind}' AND m.row = OLD.id::text AND m.origin_id = OLD.patient_id
                        AND m.target_id = NEW.patient_id AND m.transaction = {NOW}) THEN
                RAISE EXCEPTION '{table} is pinned: its patient changes by a merge, its undoing or an identity decision'
                    USING ERRCODE = 'check_violation';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER {name} BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();
    """
    return forward, f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();"


def instead(new: tuple[str, str], old: tuple[str, str]) -> migrations.RunSQL:
    """One protection in the place of another of the same name."""
    return migrations.RunSQL(old[1] + new[0], new[1] + old[0])


class Migration(migrations.Migration):
    dependencies = [("orders", "0017_identity")]
    operations = [
        migrations.RunSQL(ORDER.trigger()[1] + ORDER.trigger()[0], migrations.RunSQL.noop),
        migrations.RunSQL(*IDENTITY_CHECK.trigger()),
        migrations.RunSQL(*MERGE.trigger()),
        migrations.RunSQL(*changeable("orders_identitycheck", "state version decision words decided_by_id decided_at")),
        migrations.RunSQL(*changeable("orders_merge", "state version undone_words undone_by_id undone_at")),
        migrations.RunSQL(*insert_only("orders_patientchange")),
        migrations.RunSQL(*insert_only("orders_move")),
        migrations.RunSQL(STAMP, UNDO_STAMP),
        migrations.RunSQL(DECIDED, UNDO_DECIDED),
        migrations.RunSQL(CORRECTED, UNDO_CORRECTED),
        instead(pinned("orders_order", ORDER_PINS, when=ACCEPTED), pinned("orders_order", WITH_PATIENT, when=ACCEPTED)),
        instead(
            pinned("orders_specimen", SPECIMEN_PINS, when=OF_AN_ORDER),
            pinned("orders_specimen", f"patient_id {SPECIMEN_PINS}", when=OF_AN_ORDER),
        ),
        migrations.RunSQL(*pinned("orders_patientidentifier", "organisation_id system value type added_by_id added_at")),
        migrations.RunSQL(
            *pinned("orders_patientidentifier", "retired_at retired_by_id retired_words", when="OLD.retired_at IS NOT NULL", name="retired")
        ),
        *(migrations.RunSQL(*moved(table, kind)) for table, kind in MOVED.items()),
    ]
