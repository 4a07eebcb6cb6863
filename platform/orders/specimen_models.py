"""What was taken from the patient: expected, received in some condition, or rejected for a coded reason."""

import uuid
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper

from accounts.models import Organisation, User
from foundation.scoping import ScopedManager


class Condition(models.TextChoices):
    """The state in which a specimen came."""

    ACCEPTABLE = "acceptable", "Acceptable"
    HAEMOLYSED = "haemolysed", "Haemolysed"
    LITTLE = "little", "Little material"
    CLOTTED = "clotted", "Clotted"
    LEAKED = "leaked", "Leaked in part"
    WARM = "warm", "Not kept at the right temperature"
    DELAYED = "delayed", "Long on its way"
    OTHER = "other", "Other, in words"


RECEPTION, REJECTION = "reception", "rejection"


class Specimen(models.Model):
    """What was taken from the patient."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT)
    patient = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="specimens")
    identifier = models.CharField(max_length=80)  # label on the tube
    type = models.CharField(max_length=80)
    source = models.CharField(max_length=120, blank=True)
    collected_at = models.DateTimeField()
    state = models.CharField(max_length=10, default="expected", db_default="expected")
    version = models.PositiveIntegerField(default=1, db_default=1)
    received_at = models.DateTimeField(null=True)
    received_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    late_reason = models.CharField(
        max_length=300, blank=True, db_default=""
    )  # why the reception was entered later than it happened
    condition = models.CharField(max_length=120, blank=True)  # Condition
    condition_words = models.CharField(max_length=300, blank=True, db_default="")
    rejected_reason = models.CharField(max_length=60, blank=True, db_default="")  # reason code
    rejected_words = models.CharField(max_length=300, blank=True, db_default="")
    rejected_at = models.DateTimeField(null=True)
    rejected_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    rejection_read_at = models.DateTimeField(null=True)  # by somebody who orders for the organisation
    rejection_read_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(condition__in=["", *Condition.values]), name="specimen_condition_known"),
            models.CheckConstraint(
                condition=(Q(state="expected", received_at=None) | Q(state="received", received_at__isnull=False))
                & Q(rejected_reason="", rejected_at=None)
                | Q(state="rejected", rejected_at__isnull=False) & ~Q(rejected_reason=""),
                name="specimen_facts_of_its_state",
            ),
            models.CheckConstraint(
                condition=Q(received_at=None) | Q(received_at__gte=F("collected_at")), name="specimen_received_after_collection"
            ),
            models.CheckConstraint(
                condition=Q(rejection_read_at=None) | Q(state="rejected", rejection_read_by__isnull=False), name="rejection_read"
            ),
        ]
        indexes = [
            models.Index(fields=["organisation", "identifier"], name="specimen_label"),
            models.Index(fields=["identifier"], name="specimen_by_label"),  # what a laboratory scans comes from anywhere
            models.Index(Upper("identifier"), name="specimen_by_label_upper"),  # and is named in either case of letters
            models.Index(fields=["id"], condition=Q(state="expected"), name="specimen_expected"),
            models.Index(fields=["received_at"], condition=Q(received_at__isnull=False), name="specimen_received"),
            models.Index(fields=["rejected_at"], condition=Q(rejected_at__isnull=False), name="specimen_rejected"),
            models.Index(fields=["organisation"], condition=Q(state="rejected", rejection_read_at=None), name="rejection_unread"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events; those of the laboratory see the order's."""
        return self.organisation_id

    @property
    def condition_said(self) -> str:
        """The condition as page and report say it; empty where none was taken down."""
        return condition_in_words(self.condition, self.condition_words)


class SpecimenCorrection(models.Model):
    """A reception or a rejection that was a mistake: what it said, who took it back, and why."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, related_name="+")
    specimen = models.ForeignKey(Specimen, on_delete=models.PROTECT, related_name="corrections")
    version = models.PositiveIntegerField()  # of the specimen before
    what = models.CharField(max_length=10)  # RECEPTION | REJECTION
    received_at = models.DateTimeField(null=True)
    received_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    condition = models.CharField(max_length=120, blank=True, db_default="")
    condition_words = models.CharField(max_length=300, blank=True, db_default="")
    late_reason = models.CharField(max_length=300, blank=True, db_default="")
    rejected_reason = models.CharField(max_length=60, blank=True, db_default="")
    rejected_words = models.CharField(max_length=300, blank=True, db_default="")
    rejected_at = models.DateTimeField(null=True)
    rejected_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    words = models.CharField(max_length=300)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    transaction = models.BigIntegerField(default=0)  # written by the database: the transaction that may let the facts go

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(what__in=["reception", "rejection"]) & ~Q(words=""), name="correction_of_what")
        ]

    @property
    def condition_said(self) -> str:
        """The condition as it was taken down."""
        return condition_in_words(self.condition, self.condition_words)


def condition_in_words(condition: str, words: str) -> str:
    """A condition as it is said: "Leaked in part: at the lid"."""
    if condition == Condition.OTHER:
        return words
    label = Condition(condition).label if condition else ""
    return f"{label}: {words}" if words else label
