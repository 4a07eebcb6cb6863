"""Audit reports: what was asked, how far it is, and the pack that came of it."""

import uuid
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Organisation
from foundation.scoping import ScopedManager
from inspection.kinds import KINDS
from storage.models import StoredFile


class AuditReport(models.Model):
    """One report of one laboratory. What was asked never changes; what came of it is written once."""

    WORKING = ("queued", "running")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=12, choices=[(kind.code, kind.title) for kind in KINDS])
    asked = models.JSONField()  # field → what was said, with the ids that it stands for
    subject = models.CharField(max_length=300)  # the same in words
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    time_zone = models.CharField(max_length=60)  # in which its days and times are told
    state = models.CharField(max_length=10, default="queued")
    version = models.PositiveIntegerField(default=1)
    claim = models.UUIDField(null=True)  # of the worker that makes it
    claimed_at = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    rows_done = models.PositiveIntegerField(default=0)
    rows_total = models.PositiveIntegerField(default=0)  # as far as it is known before
    ended_at = models.DateTimeField(null=True)
    shown = models.JSONField(default=dict)  # facts and the first rows, for the page
    pack = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")

    objects = ScopedManager()
    scope_verb = "view_audit"

    class Meta:
        indexes = [models.Index(fields=["organisation", "-asked_at"], name="audit_report_newest")]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=[kind.code for kind in KINDS]), name="audit_report_kind_known"),
            models.CheckConstraint(condition=~Q(state="made") | Q(pack__isnull=False), name="audit_report_made_has_pack"),
        ]

    @property
    def short(self) -> str:
        """Its name on pages and files."""
        return f"AR-{str(self.pk)[:8].upper()}"

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id
