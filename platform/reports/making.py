"""Write a report version: its content as the facts are now, under the next number. A version is never rewritten."""

from dataclasses import replace

from audit import services as audit
from engine_queue.models import Run
from foundation import clock
from foundation.actor import Actor
from orders import hints
from orders.machines import ORDER
from orders.models import Order
from registry.models import IntendedUse
from reports import differences, release
from reports.content import Heading, canonical, digest, parse
from reports.gathering import gather, utc
from reports.machines import REPORT
from reports.models import CONCLUSIVE, REVISED, ReportKind, ReportVersion

_STUDIES = {
    ReportKind.FINAL: ReportKind.STUDY,
    ReportKind.CORRECTED: ReportKind.STUDY_CORRECTED,
    ReportKind.AMENDED: ReportKind.STUDY_AMENDED,
}


def kind_for(run: Run, kind: ReportKind) -> ReportKind:
    """The same for a test version that is not for clinical use: a study report (decision 0020)."""
    return kind if run.test.intended_use == IntendedUse.CLINICAL else _STUDIES.get(kind, kind)


def make(
    *, order: Order, run: Run, actor: Actor, kind: ReportKind, supersedes: ReportVersion | None = None, reason: str = ""
) -> ReportVersion:
    """The next version of a locked order's report. `supersedes` is the one that stands and whose place it is to take."""
    now, newest = clock.now(), order.reports.order_by("-number").first()
    number = newest.number + 1 if newest else 1
    said = gather(order=order, run=run, heading=_heading(number, kind, utc(now), supersedes, reason))
    if supersedes is not None and kind in REVISED:
        said = replace(said, changes=differences.between(parse(supersedes.content), said))
    text = canonical(said)
    record = release.covering(run) if kind in CONCLUSIVE else None
    last = order.interpretations.order_by("-number").first()
    version = ReportVersion.objects.create(
        order=order, run=run, ordering_organisation_id=order.ordering_organisation_id,
        performing_laboratory_id=order.performing_laboratory_id, number=number, kind=kind, content=text,
        content_sha256=digest(text), author_id=last.author_id if last and kind != ReportKind.UNSIGNED else None,
        supersedes=supersedes, reason=reason, validation=record, created_at=now,
    )  # fmt: skip
    facts = {"order": str(order.pk), "run": str(run.pk), "number": number, "kind": kind.value, "sha256": version.content_sha256}
    audit.record(
        actor=actor, action="report.drafted", obj=version, organisation_id=order.performing_laboratory_id, facts=facts
    )  # fmt: skip
    return version


def waiting(order: Order) -> ReportVersion | None:
    """The version that waits for signatures, if there is one."""
    found: ReportVersion | None = (
        order.reports.filter(state="draft").exclude(kind=ReportKind.UNSIGNED).select_related("run__test_version", "order").first()
    )
    return found


def discard_open(order: Order, actor: Actor, reason: str) -> None:
    """Whatever of a locked order's report is not issued yet does not count any more, signatures on it included."""
    for version in order.reports.select_for_update().filter(state="draft").order_by("number"):
        audit.transition(REPORT, version, to="discarded", actor=actor, reason=reason)


def take_back(order: Order, actor: Actor, reason: str) -> None:
    """The same, and the order awaits its review again where somebody had signed."""
    discard_open(order, actor, reason)
    if order.state == "awaiting_second_review":
        audit.transition(ORDER, order, to="awaiting_review", actor=actor, reason=reason, edits=order.edits + 1)
        hints.changed(order)


def _heading(number: int, kind: ReportKind, now: str, supersedes: ReportVersion | None, reason: str) -> Heading:
    if supersedes is None:
        return Heading(number=number, kind=kind.value, drafted_at=now)
    return Heading(
        number=number, kind=kind.value, drafted_at=now, supersedes=supersedes.number,
        superseded_sha256=supersedes.content_sha256, superseded_at=utc(supersedes.released_at), reason=reason,
    )  # fmt: skip
