"""The one door for scores. Page, panel, CSV and PDF ask here, and nowhere else, whether somebody may see a result."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import models

from accounts.roles import Verb
from engine_queue.models import Run, RunKind
from foundation.actor import Actor
from orders.machines import IN_ERROR
from orders.models import Order
from registry.models import IntendedUse
from reports.models import ReportKind, ReportVersion


class Withheld(models.TextChoices):
    """Why a report version may not be released; the value is a stable code."""

    SIGNATURE_MISSING = "report.signature-missing", "A signature is missing."
    UNSIGNED = "report.unsigned", "An unsigned draft is never released."
    NOT_SCORED = "report.not-scored", "Scoring has not finished."
    HELD = "report.held", "The order is on hold."
    CANCELLED = "report.cancelled", "The order was cancelled or rejected."
    DISCARDED = "report.discarded", "The draft was discarded."
    ENTERED_IN_ERROR = "report.entered-in-error", "The report was entered in error."
    NOT_VALIDATED = "report.not-validated", "No validation record permits this kind of report for clinical use."


@dataclass(frozen=True)
class Verdict:
    """Whether a report version may be released and, if not, every reason."""

    reasons: tuple[Withheld, ...]

    @property
    def ok(self) -> bool:
        """Nothing stands against it."""
        return not self.reasons


@dataclass(frozen=True)
class Standing:
    """Everything the verdict depends on."""

    kind: str
    state: str
    order_state: str
    held: bool
    scored: bool
    intended_use: str
    validated: bool  # a director-approved validation record covers exactly these components
    signatures_missing: int


CONCLUSIVE = frozenset({ReportKind.FINAL, ReportKind.CORRECTED, ReportKind.AMENDED})


def judge(standing: Standing) -> Verdict:
    """The release rule, as a pure function."""
    return Verdict(tuple(_objections(standing)))


def releasable(report_version: ReportVersion) -> Verdict:
    """Whether this version may be released, from what the database says now."""
    return judge(_standing(report_version))


def released_version(order: Order) -> ReportVersion | None:
    """The newest version that has been released and still may be shown."""
    versions = order.reports.filter(state="released").select_related("run__test_version", "order").order_by("-number")
    return next((version for version in versions if releasable(version).ok), None)


def may_see_scores(actor: Actor, order: Order) -> bool:
    """Laboratory people who may see unreleased results always; everybody else who may view the order, once it is released."""
    if actor.may(Verb.VIEW_UNRELEASED, order.performing_laboratory_id):
        return True
    if not actor.may(Verb.VIEW_ORDER, order.ordering_organisation_id, order.performing_laboratory_id):
        return False
    return released_version(order) is not None


def run_to_show(actor: Actor, order: Order) -> Run | None:
    """The run whose scores this actor may see: the newest one in the laboratory, the released one outside of it."""
    if not may_see_scores(actor, order):
        return None
    if actor.may(Verb.VIEW_UNRELEASED, order.performing_laboratory_id):
        reported = Run.objects.filter(order_id=order.pk, kind__in=[RunKind.CLINICAL, RunKind.REPEAT])
        newest = reported.exclude(state="cancelled").select_related("item_set__reference", "test_version").order_by("-created_at")
        return newest.first()
    version = released_version(order)
    return version.run if version else None


def validated(run: Run) -> bool:
    """Whether a director-approved record covers this run's components. There are no such records yet, so nothing is validated."""
    del run
    return False


def _standing(version: ReportVersion) -> Standing:
    return Standing(
        kind=version.kind,
        state=version.state,
        order_state=version.order.state,
        held=bool(version.order.hold_reason),
        scored=version.run.state == "scored",
        intended_use=version.run.test.intended_use,
        validated=validated(version.run),
        signatures_missing=_signatures_missing(version),
    )


def _objections(standing: Standing) -> Iterator[Withheld]:
    if standing.kind == ReportKind.UNSIGNED:
        yield Withheld.UNSIGNED
    if standing.signatures_missing:
        yield Withheld.SIGNATURE_MISSING
    if not standing.scored:
        yield Withheld.NOT_SCORED
    if standing.held:
        yield Withheld.HELD
    if standing.order_state in ("cancelled", "rejected"):
        yield Withheld.CANCELLED
    if standing.state == "discarded":
        yield Withheld.DISCARDED
    if IN_ERROR in (standing.state, standing.order_state):
        yield Withheld.ENTERED_IN_ERROR
    if standing.kind in CONCLUSIVE and not (standing.intended_use == IntendedUse.CLINICAL and standing.validated):
        yield Withheld.NOT_VALIDATED


def _signatures_missing(version: ReportVersion) -> int:
    """There is no signature table yet, so every version misses one: nothing can be released by mistake before it comes."""
    del version
    return 1
