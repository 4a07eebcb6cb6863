"""SQL that protects rows in Postgres, against the application too. No setting switches it off."""


def insert_only(table: str) -> tuple[str, str]:
    """SQL that leaves a table open for INSERT and SELECT only, for its owner too, and the SQL that undoes it."""
    name = f"{table}_insert_only"
    forward = f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '{table} is insert-only' USING ERRCODE = 'insufficient_privilege';
        END $$;
        CREATE TRIGGER {name}_rows BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();
        CREATE TRIGGER {name}_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {name}();
        REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM helicase_app;
    """
    reverse = f"""
        DROP TRIGGER {name}_rows ON {table}; DROP TRIGGER {name}_truncate ON {table}; DROP FUNCTION {name}();
        GRANT UPDATE, DELETE ON {table} TO helicase_app;
    """
    return forward, reverse


def pinned(table: str, columns: str, *, when: str = "true", name: str = "pinned") -> tuple[str, str]:
    """SQL that keeps `columns` (space separated) of a row as they are while `when` (over OLD) holds, and its undoing.

    `name` tells a second trigger of the same table from the first.
    """
    name = f"{table}_{name}"
    old, new = (", ".join(f"{side}.{column}" for column in columns.split()) for side in ("OLD", "NEW"))
    forward = f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF ROW({old}) IS DISTINCT FROM ROW({new}) AND ({when}) THEN
                RAISE EXCEPTION '{table} is pinned' USING ERRCODE = 'check_violation';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER {name} BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();
    """
    return forward, f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();"


def kept(table: str, *, when: str = "true") -> tuple[str, str]:
    """SQL that refuses to delete a row while `when` (over OLD) holds, and its undoing."""
    name = f"{table}_kept"
    forward = f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF {when} THEN
                RAISE EXCEPTION 'rows of {table} that something rests on are kept' USING ERRCODE = 'check_violation';
            END IF;
            RETURN OLD;
        END $$;
        CREATE TRIGGER {name} BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();
        REVOKE TRUNCATE ON {table} FROM helicase_app;
    """
    return forward, f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();"


def changeable(table: str, columns: str = "") -> tuple[str, str]:
    """SQL that leaves the application no UPDATE of a table but of `columns` (space separated), and no DELETE; and its undoing."""
    named = ", ".join(columns.split())
    granted = f"GRANT UPDATE ({named}) ON {table} TO helicase_app;" if named else ""
    forward = f"REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM helicase_app; {granted}"
    return forward, f"GRANT UPDATE, DELETE ON {table} TO helicase_app;"
