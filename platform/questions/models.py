"""A question: what somebody of a laboratory asked a deployed model about plain sequences, and the run that answers it."""

import uuid
from uuid import UUID

from django.db import models
from django.db.models import Q

from accounts.models import Organisation, User
from engine_queue.models import Run
from foundation.scoping import ScopedManager
from registry.priority import Priority


class Kind(models.TextChoices):
    """What is asked."""

    SCORE = "score", "Score"
    CONTINUE = "continue", "Continue"
    EMBED = "embed", "Embed"


class Question(models.Model):
    """Asked once and never changed. Its settings stand in its run's protocol, its sequences in the run's item set."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")  # the laboratory that asks
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="question")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    priority = models.CharField(max_length=10, choices=Priority.choices)
    content_sha256 = models.CharField(max_length=64)  # of all that was said: sent twice it is one question
    first_name = models.CharField(max_length=80)  # of its first sequence
    sequences = models.PositiveIntegerField()
    bases = models.PositiveIntegerField()  # of all sequences
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)  # answered or cancelled: its run says which
    cancelled_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    attention = models.CharField(max_length=60, blank=True, default="")  # reason code: a person must look at a part of it

    objects = ScopedManager()
    scope_verb = "ask"

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="question_kind_known"),
            models.CheckConstraint(condition=Q(priority__in=["asap", "urgent", "routine"]), name="question_priority_known"),
        ]
        indexes = [
            models.Index(fields=["organisation", "-asked_at", "-id"], name="question_newest"),
            models.Index(fields=["asked_by", "-asked_at", "-id"], name="question_of_person"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id

    @property
    def short(self) -> str:
        """How people call it."""
        return f"Q-{self.pk.hex[:8].upper()}"

    def __str__(self) -> str:
        return self.short
