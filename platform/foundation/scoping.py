"""`for_actor`: the one door through which pages, API and sockets reach clinical rows."""

from typing import Any, ClassVar, TypeVar

from django.db.models import Model, Q, QuerySet

from foundation.actor import Actor

M = TypeVar("M", bound=Model)


class ScopedQuerySet(QuerySet[M]):
    """Rows that belong to organisations. A row is visible through any of its `scope` columns (union)."""

    scope: ClassVar[tuple[str, ...]] = ("organisation_id",)
    verb: ClassVar[str] = "view_order"

    def for_actor(self, actor: Actor, verb: str | None = None) -> "ScopedQuerySet[M]":
        """Only the rows in organisations where `actor` may do `verb` (by default: look at orders)."""
        allowed = actor.organisations(verb or self.verb)
        reachable = Q(pk__in=[])
        for column in self.scope:
            reachable |= Q(**{f"{column}__in": allowed})
        return self.filter(reachable)


def scoped(*columns: str, verb: str = "view_order") -> Any:
    """A manager whose `for_actor` looks at the given organisation columns."""
    cls = type("Scoped", (ScopedQuerySet,), {"scope": columns or ("organisation_id",), "verb": verb})
    return cls.as_manager()
