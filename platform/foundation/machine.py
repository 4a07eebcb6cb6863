"""State machines, written once and enforced twice: in Python by `audit.transition`, in Postgres by a trigger."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Machine:
    """The states of one table and the edges between them."""

    table: str
    initial: frozenset[str]
    edges: Mapping[str, frozenset[str]]
    column: str = "state"

    @property
    def states(self) -> frozenset[str]:
        """Every state that can be reached."""
        return self.initial | frozenset(self.edges) | frozenset(s for targets in self.edges.values() for s in targets)

    def allows(self, source: str, target: str) -> bool:
        """Whether the edge exists."""
        return target in self.edges.get(source, frozenset())

    def trigger(self) -> tuple[str, str]:
        """SQL that makes the database refuse every other move, INSERT included, and the SQL that takes it away."""
        name, column = f"{self.table}_{self.column}_machine", self.column
        initial = ", ".join(f"'{s}'" for s in sorted(self.initial))
        pairs = [(s, t) for s, targets in sorted(self.edges.items()) for t in sorted(targets)]
        edges = ", ".join(f"('{s}', '{t}')" for s, t in pairs)
        forward = f"""
            CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    IF NEW.{column} NOT IN ({initial}) THEN
                        RAISE EXCEPTION '{self.table} cannot begin as %', NEW.{column} USING ERRCODE = 'check_violation';
                    END IF;
                ELSIF NEW.{column} <> OLD.{column} AND (OLD.{column}::text, NEW.{column}::text) NOT IN ({edges}) THEN
                    RAISE EXCEPTION '{self.table} cannot go from % to %', OLD.{column}, NEW.{column}
                        USING ERRCODE = 'check_violation';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON {self.table} FOR EACH ROW EXECUTE FUNCTION {name}();
        """
        return forward, f"DROP TRIGGER {name} ON {self.table}; DROP FUNCTION {name}();"
