"""A reviewer decides about the draft before him: it goes to signature, the order is run again, or nothing comes of it."""

from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue.models import Run
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from foundation.reasons import Reason
from orders import rerunning, services
from orders.models import Order
from orders.remarks import LONG, remark
from registry.models import IntendedUse
from registry.priority import Priority
from reports import making, release
from reports import services as reports
from reports.interpreting import STATES
from reports.models import Decision, ReportKind, ReportVersion, Review

_MISSING = {Decision.RETURN: "Say why it is run again.", Decision.REJECT: "Say why no report comes of it: the requester reads it."}


class NotInReview(Refused):
    """This order does not await a review."""


class NotValidated(Refused):
    """This test version is for clinical use and no validation record of it stands: nothing of it can be final. See Validation."""


class OnlyStat(Refused):
    """A preliminary report is issued of a STAT order, before its review is done."""


def approve(*, order: Order, actor: Actor, seen: UUID, note: str = "") -> ReportVersion:
    """Approve the draft: the version to be signed is made of it. Raises `NotInReview`, `NotValidated`, `Stale`, `NotPermitted`."""
    with transaction.atomic():
        draft = _before_him(order, actor, seen)
        run = draft.run
        kind = making.kind_for(run, ReportKind.FINAL)
        if kind == ReportKind.FINAL and not release.validated(run):
            raise NotValidated(code="report.not-validated")
        _decide(draft, actor, Decision.APPROVE, note)
        making.discard_open(draft.order, actor, "report.approved")
        standing = draft.order.reports.filter(state="released").first()  # a preliminary one
        return making.make(order=draft.order, run=run, actor=actor, kind=kind, supersedes=standing)


def preliminary(*, order: Order, actor: Actor, seen: UUID) -> ReportVersion:
    """Make the preliminary report of a STAT order from the draft; it is released by the signature of a permitted person."""
    require(actor, Verb.RELEASE_PRELIMINARY, order.performing_laboratory_id)
    with transaction.atomic():
        draft = _before_him(order, actor, seen, verb=Verb.RELEASE_PRELIMINARY)
        locked = draft.order
        if locked.priority != Priority.STAT or making.waiting(locked) or locked.reports.filter(state="released").exists():
            raise OnlyStat(code="report.only-stat")
        return making.make(order=locked, run=draft.run, actor=actor, kind=ReportKind.PRELIMINARY)


def send_back(*, order: Order, actor: Actor, seen: UUID, note: str) -> Run:
    """Return the order: a new run, never a new attempt. What is not issued of its report is discarded."""
    with transaction.atomic():
        draft = _before_him(order, actor, seen)
        _decide(draft, actor, Decision.RETURN, note)
        making.discard_open(draft.order, actor, "report.returned")
        return rerunning.run_again(locked=draft.order, of=draft.run, actor=actor, reason=str(Reason.ORDER_RETURNED))


def reject(*, order: Order, actor: Actor, seen: UUID, note: str) -> None:
    """No report comes of these results: the order ends, and its requester reads why."""
    with transaction.atomic():
        draft = _before_him(order, actor, seen)
        review = _decide(draft, actor, Decision.REJECT, note)
        making.discard_open(draft.order, actor, "report.rejected")
        locked = draft.order
        said = f"The results were rejected on review: {review.note}"[:LONG]
        changes: dict[str, Any] = {"ended_at": clock.now(), "cancelled_reason": said, "edits": locked.edits + 1}
        services.end(locked, to="cancelled", actor=actor, reason=str(Reason.ORDER_RESULTS_REJECTED), **changes)


def withdraw(*, order: Order, actor: Actor, seen: UUID) -> None:
    """Discard the version that waits for signatures, with those that are on it: a reviewer has changed his mind."""
    require(actor, Verb.REVIEW, order.performing_laboratory_id)
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        waits = making.waiting(locked)
        if waits is None or waits.pk != seen:
            raise Stale("Another version waits now, or none. Look at it again.", code="state.stale")
        making.take_back(locked, actor, "report.withdrawn")


def _before_him(order: Order, actor: Actor, seen: UUID, verb: Verb = Verb.REVIEW) -> ReportVersion:
    """The draft as the person saw it, its order locked. Raises `Stale` where it is no longer what stands there, saying why."""
    require(actor, verb, order.performing_laboratory_id)
    locked = Order.objects.select_for_update().get(pk=order.pk)
    decided = Review.objects.filter(report_version_id=seen, report_version__order=locked).first()
    if decided is not None and decided.reviewer_id != actor.id:
        raise Stale(
            f"{decided.reviewer_name} was quicker: {Decision(decided.decision).label.lower()}. Nothing of yours was kept.",
            code="report.reviewed",
        )
    run = release.newest_run(locked)
    if locked.state not in STATES or run is None or run.state != "scored":
        raise NotInReview(code="report.not-in-review")
    current = reports.draft(order=locked, run=run, actor=actor)
    if current.pk != seen:
        raise Stale("What the report says has changed since you opened the page. Look at it again.", code="state.stale")
    current.order = locked
    return current


def _decide(draft: ReportVersion, actor: Actor, decision: Decision, note: str) -> Review:
    said = remark(note, field="note", most=LONG, missing=_MISSING.get(decision, ""))
    if actor.id is None:
        raise NotPermitted("A person reviews.", code="access.not-permitted")
    organisation = draft.performing_laboratory_id
    made = Review.objects.create(
        organisation_id=organisation, order=draft.order, report_version=draft, seen_sha256=draft.content_sha256,
        reviewer_id=actor.id, reviewer_name=actor.name, decision=decision, note=said, at=clock.now(),
    )  # fmt: skip
    action = {"approve": "report.approved", "return": "report.returned", "reject": "report.rejected"}[decision]
    audit.record(
        actor=actor, action=action, obj=draft, organisation_id=organisation, facts={"sha256": draft.content_sha256}
    )  # fmt: skip
    return made


def may_be_final(run: Run) -> bool:
    """Whether what is approved now could be issued as final, or as a study report."""
    return run.test.intended_use != IntendedUse.CLINICAL or release.validated(run)
