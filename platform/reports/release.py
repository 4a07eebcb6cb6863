"""The one door for scores. Page, panel, CSV and PDF ask here, and nowhere else, whether somebody may see a result."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import models

from accounts.roles import Verb
from engine_queue.models import Run, RunKind
from foundation.actor import Actor
from orders import emergency
from orders.machines import IN_ERROR
from orders.models import Order
from registry.models import IntendedUse, ValidationRecord
from reports.models import CONCLUSIVE, Meaning, ReportKind, ReportVersion

_COMPONENTS = ("test_version_id", "model_version_id", "deployment_id", "precision", "reference_digest")


class Withheld(models.TextChoices):
    """Why a report version may not be released; the value is a stable code."""

    SIGNATURE_MISSING = "report.signature-missing", "A signature is missing."
    UNSIGNED = "report.unsigned", "An unsigned draft is never released."
    NOT_SCORED = "report.not-scored", "Scoring has not finished."
    HELD = "report.held", "The order is on hold."
    CANCELLED = "report.cancelled", "The order was cancelled or rejected."
    DISCARDED = "report.discarded", "The draft was discarded."
    SUPERSEDED = "report.superseded", "Another version of the report took its place."
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
    validated: bool  # a director-approved record covers exactly these components, or did when it was issued
    signatures_missing: int


def judge(standing: Standing) -> Verdict:
    """The release rule, as a pure function."""
    return Verdict(tuple(_objections(standing)))


def releasable(report_version: ReportVersion) -> Verdict:
    """Whether this version may be released, from what the database says now."""
    return judge(_standing(report_version))


def released_version(order: Order) -> ReportVersion | None:
    """The version that stands: issued, not superseded, and nothing against showing it."""
    versions = order.reports.filter(state="released").select_related("run__test_version", "order").defer("content")
    return next((version for version in versions if releasable(version).ok), None)


def may_see_scores(actor: Actor, order: Order) -> bool:
    """Laboratory people who may see unreleased results always; others who may view the order, or opened it, once it is released."""
    if actor.may(Verb.VIEW_UNRELEASED, order.performing_laboratory_id):
        return True
    rightful = actor.may(Verb.VIEW_ORDER, order.ordering_organisation_id, order.performing_laboratory_id)
    if not rightful and emergency.by(actor, order) is None:
        return False
    return released_version(order) is not None


def run_to_show(actor: Actor, order: Order) -> Run | None:
    """The run whose scores this actor may see: the newest one in the laboratory, the released one outside of it."""
    if not may_see_scores(actor, order):
        return None
    if actor.may(Verb.VIEW_UNRELEASED, order.performing_laboratory_id):
        return newest_run(order)
    version = released_version(order)
    return version.run if version else None


def newest_run(order: Order) -> Run | None:
    """The run that an order's results are, or will be, of: the first one, or the last that a reviewer asked for."""
    reported = Run.objects.filter(order_id=order.pk, kind__in=[RunKind.CLINICAL, RunKind.REPEAT])
    return reported.exclude(state="cancelled").select_related("item_set__reference", "test_version").order_by("-created_at").first()


def covering(run: Run) -> ValidationRecord | None:
    """The standing validation of exactly the components that this run was made with; None: there is none."""
    if run.test.intended_use != IntendedUse.CLINICAL:
        return None
    made_with = {name: getattr(run, name) for name in _COMPONENTS}
    record: ValidationRecord | None = ValidationRecord.objects.filter(state="approved", **made_with).first()
    if record is None or run.results.exclude(fingerprint=record.environment).exists():
        return None
    return record


def validated(run: Run) -> bool:
    """Whether a director-approved record covers this run's components."""
    return covering(run) is not None


def demanded(kind: str, signers: int) -> tuple[Meaning, ...]:
    """The meanings that have to stand under a version, in the order of signing."""
    if kind == ReportKind.PRELIMINARY:
        return (Meaning.PRELIMINARY,)
    return (Meaning.APPROVAL,) if signers == 1 else (Meaning.REVIEW, Meaning.APPROVAL)


def signers(version: ReportVersion) -> int:
    """How many people sign a report of this test and priority."""
    return int(version.run.test.signatures[version.order.priority])


def missing(version: ReportVersion) -> tuple[Meaning, ...]:
    """The signatures that a version still lacks. Only those over its own content count."""
    there = set(version.signatures.filter(content_sha256=version.content_sha256).values_list("meaning", flat=True))
    return tuple(meaning for meaning in demanded(version.kind, signers(version)) if meaning not in there)


def readable(actor: Actor, version: ReportVersion) -> bool:
    """Whether this person may read this version: in the laboratory every one, elsewhere what was issued and not recalled."""
    if actor.may(Verb.VIEW_UNRELEASED, version.performing_laboratory_id):
        return True
    issued = version.state in ("released", "superseded") and version.released_at is not None
    return issued and may_see_scores(actor, version.order)


def _standing(version: ReportVersion) -> Standing:
    return Standing(
        kind=version.kind,
        state=version.state,
        order_state=version.order.state,
        held=bool(version.order.hold_reason),
        scored=version.run.state == "scored",
        intended_use=version.run.test.intended_use,
        validated=version.validation_id is not None if version.released_at else validated(version.run),
        signatures_missing=len(missing(version)),
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
    if standing.state == "superseded":
        yield Withheld.SUPERSEDED
    if IN_ERROR in (standing.state, standing.order_state):
        yield Withheld.ENTERED_IN_ERROR
    if standing.kind in CONCLUSIVE and not (standing.intended_use == IntendedUse.CLINICAL and standing.validated):
        yield Withheld.NOT_VALIDATED
