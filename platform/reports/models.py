"""Report versions. One version has exactly one run; once issued it is never changed."""

import uuid
from uuid import UUID

from django.db import models
from django.db.models import Q

from engine_queue.models import Run
from foundation.scoping import ScopedManager
from orders.models import Order


class ReportKind(models.TextChoices):
    """What a version says of itself."""

    UNSIGNED = "unsigned", "Unsigned draft"
    PRELIMINARY = "preliminary", "Preliminary"
    FINAL = "final", "Final"
    CORRECTED = "corrected", "Corrected"
    AMENDED = "amended", "Amended"


class ReportVersion(models.Model):
    """The canonical content of one report, and where it stands."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="reports")
    run = models.ForeignKey(Run, on_delete=models.PROTECT)
    ordering_organisation_id = models.UUIDField()
    performing_laboratory_id = models.UUIDField()
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=ReportKind.choices)
    state = models.CharField(max_length=20, default="draft")
    version = models.PositiveIntegerField(default=1)
    content = models.TextField()  # canonical JSON, the exact bytes that are hashed
    content_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    objects = ScopedManager()
    scope = ("ordering_organisation_id", "performing_laboratory_id")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "number"], name="one_report_number"),
            models.CheckConstraint(condition=Q(kind__in=ReportKind.values), name="report_kind_known"),
            # Nothing unsigned is ever released; signatures come with their own issue.
            models.CheckConstraint(condition=~Q(kind="unsigned") | Q(released_at=None), name="unsigned_is_never_released"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.performing_laboratory_id
