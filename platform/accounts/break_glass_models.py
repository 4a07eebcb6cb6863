"""Break-glass: somebody opened one patient's reports of one laboratory, for an hour at most, and said why."""

import uuid
from datetime import datetime, timedelta

from django.db import models
from django.db.models import F, Q

from foundation.reasons import Reason
from foundation.scoping import ScopedManager

LASTS = timedelta(minutes=60)


class Kind(models.TextChoices):
    """Why somebody needs what he has no right to: reason codes."""

    EMERGENCY = str(Reason.BREAK_GLASS_EMERGENCY), "The patient is in an emergency"
    TAKEN_OVER = str(Reason.BREAK_GLASS_TAKEN_OVER), "I have taken over the care of the patient"
    UNREACHABLE = str(Reason.BREAK_GLASS_UNREACHABLE), "Nobody who has the report can be reached"
    OTHER = str(Reason.BREAK_GLASS_OTHER), "Another reason, which I give in words"


class Ended(models.TextChoices):
    """How it ended."""

    BY_ITSELF = "by_itself", "by itself, when its time was over"
    BY_THE_PERSON = "by_the_person", "by the person, before its time was over"


class BreakGlass(models.Model):
    """One opening. Its end and its review are written once; nothing else of it ever changes, and it is never deleted."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey("accounts.User", on_delete=models.PROTECT, related_name="+")
    organisation = models.ForeignKey("accounts.Organisation", on_delete=models.PROTECT, related_name="+")  # where he works
    laboratory = models.ForeignKey("accounts.Organisation", on_delete=models.PROTECT, related_name="+")  # whose reports are opened
    patient_id = models.UUIDField()
    patient_organisation_id = models.UUIDField()  # whose record of the patient it is
    kind = models.CharField(max_length=60, choices=Kind.choices)
    words = models.CharField(max_length=500)
    proof = models.OneToOneField("accounts.StepUp", on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField()
    until = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ended_how = models.CharField(max_length=20, blank=True, default="", choices=Ended.choices)
    reviewed_at = models.DateTimeField(null=True)
    reviewed_by = models.ForeignKey("accounts.User", null=True, on_delete=models.PROTECT, related_name="+")
    justified = models.BooleanField(null=True)
    review_words = models.CharField(max_length=500, blank=True, default="")

    objects = ScopedManager()
    scope = ("laboratory_id",)
    scope_verb = "view_audit"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user"], condition=Q(ended_at=None), name="one_break_glass_at_a_time"),
            models.CheckConstraint(
                condition=Q(until__gt=F("opened_at")) & Q(until__lte=F("opened_at") + LASTS), name="break_glass_lasts_an_hour"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, ended_how="")
                | Q(ended_at__gte=F("opened_at"), ended_at__lte=F("until")) & ~Q(ended_how=""),
                name="break_glass_ends_in_its_time",
            ),
            models.CheckConstraint(condition=~Q(words=""), name="break_glass_has_a_reason"),
            models.CheckConstraint(
                condition=Q(reviewed_at=None, reviewed_by=None, justified=None, review_words="")
                | Q(reviewed_at__isnull=False, reviewed_by__isnull=False, justified__isnull=False) & ~Q(review_words=""),
                name="break_glass_review_is_whole",
            ),
            models.CheckConstraint(condition=~Q(reviewed_by=F("user")), name="break_glass_reviewed_by_another"),
        ]
        indexes = [
            models.Index(fields=["laboratory", "-opened_at"], name="break_glass_of_laboratory"),
            models.Index(fields=["until"], condition=Q(ended_at=None), name="break_glass_open"),
        ]

    def is_open(self, now: datetime) -> bool:
        """Whether it still opens something."""
        return self.ended_at is None and self.until > now
