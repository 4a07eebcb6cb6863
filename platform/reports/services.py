"""Make the unsigned draft of a report, and decide what a person asking for the report is shown."""

from dataclasses import dataclass
from enum import Enum

from django.db import transaction

from audit import reads
from audit import services as audit
from engine_queue.models import Run
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from orders import emergency
from orders.machines import IN_ERROR
from orders.models import Order
from reports import delivering, making, release
from reports.content import parse
from reports.gathering import again
from reports.machines import REPORT
from reports.models import CONCLUSIVE, ReportKind, ReportVersion

LARGEST = 50_000  # results in one document; above it they are read on the order page and as CSV


class TooLarge(Refused):
    """The order has more results than one document holds; its results are in the CSV."""


class Door(Enum):
    """What stands behind the door for this person, with the words for it."""

    OPEN = ""
    NOT_SCORED = "Scoring has not finished. The report can be read here as soon as every variant has been scored."
    RUN_AGAIN = "The order is run again, and scoring has not finished. The report of the run before stands: it can be read below."
    WITHHELD = "The report has not been released yet. The order page shows how far it is."
    IN_ERROR = "This order was entered in error: it was for the wrong patient. No result and no report of it is valid."
    RECALLED = "The report of this order is not valid any more: the order was cancelled after it. The order page says why."
    TOO_LARGE = "This order has more results than one document holds. The order page shows them all and gives them as CSV."


@dataclass(frozen=True)
class Shown:
    """A report version to show, or the reason why there is none."""

    door: Door
    version: ReportVersion | None = None


def show(*, actor: Actor, order: Order) -> Shown:
    """The version this person reads: what stands; before, in the laboratory, what waits for signatures, else the draft.

    Of an order that was entered in error, or cancelled after a report, nothing is made any more; the laboratory reads what there
    was, marked as such.
    """
    if order.state == IN_ERROR or closed(order) == Door.RECALLED:
        return _recalled(actor, order)
    run = release.run_to_show(actor, order)
    if run is None:
        return Shown(Door.NOT_SCORED if release.may_see_scores(actor, order) else Door.WITHHELD)
    released = release.released_version(order)
    if run.state != "scored":
        return Shown(Door.NOT_SCORED if released is None else Door.RUN_AGAIN)
    if released is not None and released.run_id == run.pk:
        return Shown(Door.OPEN, released)
    open_one = making.waiting(order)
    if open_one is not None and open_one.run_id == run.pk:
        return Shown(Door.OPEN, open_one)
    if run.items_total > LARGEST:
        return Shown(Door.TOO_LARGE)
    return Shown(Door.OPEN, draft(order=order, run=run, actor=actor))


def versions(actor: Actor, order: Order) -> list[ReportVersion]:
    """The versions this person may read, the latest first; drafts that were discarded are for the audit trail."""
    rows = order.reports.exclude(state="discarded").select_related("order").defer("content").order_by("-number")
    return [version for version in rows if release.readable(actor, version)]


def version_for(actor: Actor, order: Order, number: int) -> ReportVersion:
    """One of them by its number. Raises `NotFound`, also for what he may not read."""
    found: ReportVersion | None = order.reports.filter(number=number).select_related("order", "run__test_version").first()
    if found is None or not release.readable(actor, found):
        raise NotFound("There is no such version of this report here.")
    return found


def read(*, actor: Actor, order: Order, version: ReportVersion, action: str) -> None:
    """Write that somebody has this version before him, or took it with him; of whose order, its facts say."""
    facts = {"order": str(order.pk), "version": version.number, "sha256": version.content_sha256}
    opened = emergency.by(actor, order)
    if opened is not None:
        emergency.read(actor=actor, opened=opened, order=order, obj=version, action=action, facts=facts)
        return
    reads.seen(actor=actor, action=action, obj=version, organisation_id=order.performing_laboratory_id, facts=facts)
    delivering.opened(actor=actor, version=version)


def exported(*, actor: Actor, order: Order) -> None:
    """Write that somebody took the results with him; each time is an event."""
    opened = emergency.by(actor, order)
    if opened is not None:
        emergency.read(actor=actor, opened=opened, order=order, obj=order, action="results.exported")
        return
    with transaction.atomic():
        audit.record(actor=actor, action="results.exported", obj=order, organisation_id=order.performing_laboratory_id)
    released = release.released_version(order)
    if released is not None:
        delivering.opened(actor=actor, version=released)


def closed(order: Order) -> Door:
    """Why nobody outside of the laboratory reads anything of an order of which nothing is releasable."""
    if order.state == IN_ERROR:
        return Door.IN_ERROR
    cancelled = order.state == "cancelled" and order.reports.filter(state="released").exists()
    return Door.RECALLED if cancelled else Door.WITHHELD


def _recalled(actor: Actor, order: Order) -> Shown:
    found = order.reports.filter(state__in=[IN_ERROR, "released"]).select_related("order").order_by("-number").first()
    inside = release.may_see_scores(actor, order)  # nobody outside: nothing of it is releasable
    return Shown(Door.OPEN, found) if found is not None and inside else Shown(closed(order))


def draft(*, order: Order, run: Run, actor: Actor) -> ReportVersion:
    """The unsigned draft for a scored run; the one that exists, as long as nothing it says has changed.

    Content is never changed: when a fact changed since (a corrected name, a received time), the old draft is discarded and
    the next number says the new one. Raises `TooLarge` past `LARGEST` results, `Refused` before the run is scored.
    """
    if run.state != "scored":
        raise Refused("Scoring has not finished.", code=release.Withheld.NOT_SCORED)
    if run.items_total > LARGEST:
        raise TooLarge(code="report.too-large")
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        if locked.state == IN_ERROR:
            raise Refused(Door.IN_ERROR.value, code=release.Withheld.ENTERED_IN_ERROR)
        versions = locked.reports.order_by("-number")
        current = versions.filter(run=run, kind=ReportKind.UNSIGNED, state="draft").first()
        if current is None:
            return making.make(order=locked, run=run, actor=actor, kind=ReportKind.UNSIGNED)
        if not changed(current, locked):
            return current
        audit.transition(REPORT, current, to="discarded", actor=actor, reason="report.facts-changed")
        return making.make(order=locked, run=run, actor=actor, kind=ReportKind.UNSIGNED)


def changed(version: ReportVersion, order: Order) -> bool:
    """Whether the facts are no longer what a version says, or its validation was replaced: then it is not what would be signed."""
    said = parse(version.content)
    if again(order=order, run=version.run, said=said) != said:
        return True
    record = release.covering(version.run) if version.kind in CONCLUSIVE else None
    return version.validation_id != (record.pk if record is not None else None)
