"""Interpretations, reviews, report versions and signatures. One version has exactly one run; once issued it is never changed."""

import uuid
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models import StepUp, User
from engine_queue.models import Result, Run
from foundation.scoping import ScopedManager
from orders.models import Order
from registry.models import Frequencies, ValidationRecord
from storage.models import StoredFile


class ReportKind(models.TextChoices):
    """What a version says of itself. A test version that is not for clinical use has study reports (decision 0020)."""

    UNSIGNED = "unsigned", "Unsigned draft"
    PRELIMINARY = "preliminary", "Preliminary"
    FINAL = "final", "Final"
    CORRECTED = "corrected", "Corrected"
    AMENDED = "amended", "Amended"
    STUDY = "study", "Study report"
    STUDY_CORRECTED = "study-corrected", "Corrected study report"
    STUDY_AMENDED = "study-amended", "Amended study report"


CONCLUSIVE = frozenset({ReportKind.FINAL, ReportKind.CORRECTED, ReportKind.AMENDED})  # for a validated clinical test alone
CORRECTED = frozenset({ReportKind.CORRECTED, ReportKind.STUDY_CORRECTED})
REVISED = CORRECTED | {ReportKind.AMENDED, ReportKind.STUDY_AMENDED}


class Meaning(models.TextChoices):
    """What a person says by signing."""

    REVIEW = "review", "Reviewed the results and the report"
    APPROVAL = "approval", "Approves the report and answers for it"
    PRELIMINARY = "preliminary", "Releases it as a preliminary report"


class Interpretation(models.Model):
    """What the results mean, as somebody wrote it. An edit is another row; the last one counts, and its author is the author."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="interpretations")
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    author_name = models.CharField(max_length=200)  # as printed
    at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "view_unreleased"

    class Meta:
        constraints = [models.UniqueConstraint(fields=["order", "number"], name="one_interpretation_number")]


class ReportVersion(models.Model):
    """The canonical content of one report, and where it stands."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="reports")
    run = models.ForeignKey(Run, on_delete=models.PROTECT)
    ordering_organisation_id = models.UUIDField()
    performing_laboratory_id = models.UUIDField()
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=ReportKind.choices)
    state = models.CharField(max_length=20, default="draft")
    version = models.PositiveIntegerField(default=1)
    content = models.TextField()  # canonical JSON, the exact bytes that are hashed
    content_sha256 = models.CharField(max_length=64)
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # of its interpretation
    supersedes = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="successors")
    reason = models.CharField(max_length=500, blank=True, db_default="")  # why it was corrected or amended
    validation = models.ForeignKey(ValidationRecord, on_delete=models.PROTECT, null=True, related_name="+")  # that permits it
    created_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)
    document = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")  # rendered once, at its issue
    document_sha256 = models.CharField(max_length=64, blank=True, db_default="")

    objects = ScopedManager()
    scope = ("ordering_organisation_id", "performing_laboratory_id")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "number"], name="one_report_number"),
            models.UniqueConstraint(fields=["order"], condition=Q(state="released"), name="one_report_stands"),
            models.UniqueConstraint(
                fields=["order"], condition=Q(state="draft") & ~Q(kind="unsigned"), name="one_report_waits_for_signatures"
            ),
            models.CheckConstraint(condition=Q(kind__in=ReportKind.values), name="report_kind_known"),
            models.CheckConstraint(condition=~Q(kind="unsigned") | Q(released_at=None), name="unsigned_is_never_released"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.performing_laboratory_id


class Decision(models.TextChoices):
    """What a reviewer decides."""

    APPROVE = "approve", "Approved"
    RETURN = "return", "Returned for another run"
    REJECT = "reject", "Rejected"


class Review(models.Model):
    """What a reviewer decided about the draft that he had before him."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="reviews")
    report_version = models.ForeignKey(ReportVersion, on_delete=models.PROTECT, related_name="reviews")
    seen_sha256 = models.CharField(max_length=64)
    reviewer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    reviewer_name = models.CharField(max_length=200)
    decision = models.CharField(max_length=10, choices=Decision.choices)
    note = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "view_unreleased"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["report_version"], name="one_review_per_draft"),
            models.CheckConstraint(condition=Q(decision__in=Decision.values), name="review_decision_known"),
        ]


class Background(models.Model):
    """Common variants of a region and what a run of their own scored. Written when asked for, and once more when it is there."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()  # the laboratory
    frequencies = models.ForeignKey(Frequencies, on_delete=models.PROTECT, related_name="backgrounds")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="background")
    asked_by = models.CharField(max_length=200)  # printed name
    asked_at = models.DateTimeField()
    fingerprint = models.CharField(max_length=64, blank=True, default="")  # of what scored all of them
    deltas = models.JSONField(default=list)  # ascending, in nats
    failed = models.PositiveIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True, default="")  # of [contig, position, ref, alt, Δ] in the order of the file
    made_at = models.DateTimeField(null=True)

    objects = ScopedManager()
    scope_verb = "view_unreleased"

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id


class Track(models.Model):
    """That somebody wanted to see one result base by base, and the run that tells it. Insert-only; asked for once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="tracks")
    result = models.OneToOneField(Result, on_delete=models.PROTECT, related_name="track")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="track")
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "view_unreleased"


class Signature(models.Model):
    """One person's name under one version, over SHA-256 of its content. Insert-only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()  # the performing laboratory
    report_version = models.ForeignKey(ReportVersion, on_delete=models.PROTECT, related_name="signatures")
    signer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    printed_name = models.CharField(max_length=200)
    meaning = models.CharField(max_length=12, choices=Meaning.choices)
    content_sha256 = models.CharField(max_length=64)
    method = models.CharField(max_length=40)  # how he proved who he is
    step_up = models.OneToOneField(StepUp, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())  # by the clock of Postgres, whatever is given

    objects = ScopedManager()
    scope_verb = "view_unreleased"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["report_version", "signer"], name="one_signature_per_person"),
            models.UniqueConstraint(fields=["report_version", "meaning"], name="one_signature_per_meaning"),
            models.CheckConstraint(condition=Q(meaning__in=Meaning.values), name="signature_meaning_known"),
        ]


from reports.delivery_models import Critical as Critical  # noqa: E402 -- they point at ReportVersion; one app, two files of nouns
from reports.delivery_models import CriticalCall as CriticalCall  # noqa: E402
from reports.delivery_models import CriticalLevel as CriticalLevel  # noqa: E402
from reports.delivery_models import DeliveryNote as DeliveryNote  # noqa: E402
from reports.delivery_models import Recipient as Recipient  # noqa: E402
from reports.delivery_models import ReportDelivery as ReportDelivery  # noqa: E402
