"""`for_actor`: the one door through which pages, API and sockets reach clinical rows.

A model says through which columns it belongs to organisations (`scope`) and which verb opens it (`scope_verb`).
"""

from typing import TypeVar

from django.db.models import Manager, Model, Q, QuerySet

from foundation.actor import Actor

M = TypeVar("M", bound=Model)


class ScopedQuerySet(QuerySet[M]):
    """Rows that belong to organisations. A row is visible through any of its `scope` columns (union)."""

    def for_actor(self, actor: Actor, verb: str | None = None, *, opened: bool = False) -> "ScopedQuerySet[M]":
        """Only the rows in organisations where `actor` may do `verb` (by default: look at orders).

        With `opened` also those that he opened by break-glass, by the columns that the model names for it (`scope_opened`: the
        patient's, the laboratory's). Doors of released reports ask for them, lists do not.
        """
        columns: tuple[str, ...] = getattr(self.model, "scope", ("organisation_id",))
        usual: str = getattr(self.model, "scope_verb", "view_order")
        allowed = actor.organisations(verb or usual)
        reachable = Q(pk__in=[])
        for column in columns:
            reachable |= Q(**{f"{column}__in": allowed})
        named: tuple[str, ...] = getattr(self.model, "scope_opened", ())
        if opened and named and actor.opened is not None:
            patient, laboratory = named
            reachable |= Q(**{patient: actor.opened.patient, laboratory: actor.opened.laboratory})
        return self.filter(reachable)


class ScopedManager(Manager[M]):
    """The manager of a model whose rows belong to organisations."""

    def get_queryset(self) -> ScopedQuerySet[M]:
        """All rows: for services and selectors that have checked the right themselves."""
        return ScopedQuerySet(self.model, using=self._db)

    def for_actor(self, actor: Actor, verb: str | None = None, *, opened: bool = False) -> ScopedQuerySet[M]:
        """Only the rows this actor may see."""
        return self.get_queryset().for_actor(actor, verb, opened=opened)
