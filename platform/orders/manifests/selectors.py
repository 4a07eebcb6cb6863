"""What people may read of manifests. A stranger finds none."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, QuerySet

from foundation.actor import Actor
from foundation.errors import NotFound
from orders.models import Manifest, ManifestRow

LISTED = 20
PAGE = 100
SHOWN = (
    *("number", "rank", "cells", "state", "objections", "manifest", "order__accession", "order__attention"),
    *("intake__state", "intake__progress", "intake__counts", "intake__records"),
)
FILTERS = {
    "all": ("All", ()),
    "invalid": ("Not valid", ("invalid", "refused")),
    "valid": ("Valid, not placed", ("valid",)),
    "placed": ("Placed", ("placed",)),
    "before": ("Placed before", ("before",)),
    "pending": ("Not checked yet", ("pending",)),
}


@dataclass(frozen=True)
class RowsPage:
    """Some rows of a manifest, and how many there are of each kind."""

    rows: list[ManifestRow]
    counts: dict[str, int]  # filter → rows
    chosen: str
    page: int
    pages: int


def manifest_for(actor: Actor, pk: UUID) -> Manifest:
    """A manifest this actor may see. Raises `NotFound`."""
    rows = Manifest.objects.for_actor(actor).select_related("ordering_organisation", "file", "created_by", "placed_by")
    found: Manifest | None = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def recent(actor: Actor) -> list[Manifest]:
    """The newest manifests of this actor's organisations."""
    rows: QuerySet[Manifest] = Manifest.objects.for_actor(actor).select_related("ordering_organisation", "created_by")
    return list(rows.order_by("-created_at")[:LISTED])


def rows_page(manifest: Manifest, *, chosen: str = "", page: int = 1) -> RowsPage:
    """Rows by their number; without a choice those that need a person, as soon as there are any."""
    states: dict[str, int] = dict(manifest.rows.order_by().values_list("state").annotate(Count("pk")))
    counts = {key: sum(states.get(state, 0) for state in wanted) for key, (_, wanted) in FILTERS.items()}
    counts["all"] = sum(states.values())
    if chosen not in FILTERS:
        chosen = "invalid" if counts["invalid"] else "all"
    rows = manifest.rows.select_related("order", "intake").only(*SHOWN)
    if chosen != "all":
        rows = rows.filter(state__in=FILTERS[chosen][1])
    pages = max(1, -(-counts[chosen] // PAGE))
    page = min(max(1, page), pages)
    return RowsPage(list(rows.order_by("number")[(page - 1) * PAGE : page * PAGE]), counts, chosen, page, pages)


def verdict_lines(manifest: Manifest) -> Iterable[tuple[int, str, str, str, str, str]]:
    """Row, state, column, words, code, accession: a line for every objection, and one for every row without."""
    rows = manifest.rows.order_by("number").values_list("number", "state", "objections", "order__accession")
    for number, state, objections, accession in rows.iterator(chunk_size=500):
        for said in objections or [{"column": "", "words": "", "code": ""}]:
            yield number, state, said["column"], said["words"], said["code"], accession or ""
