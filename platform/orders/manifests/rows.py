"""A manifest and its rows, as they are kept: who sent it, what was said of each row, which order came of it."""

import uuid
from typing import ClassVar
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import Q

from accounts.models import Organisation, User
from foundation.scoping import ScopedManager
from storage.models import StoredFile


class Manifest(models.Model):
    """One table of orders, alone or in a ZIP with its files."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    ordering_organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT)
    filename = models.CharField(max_length=255)
    zone = models.CharField(max_length=64)  # of the organisation when it was sent: what times without an offset mean
    state = models.CharField(max_length=10, default="checking")
    version = models.PositiveIntegerField(default=1)
    problems = models.JSONField(default=list)  # [{code, words, fatal}] of the whole
    total = models.PositiveIntegerField(default=0)  # rows
    valid_only = models.BooleanField(default=False)  # placed although some rows are not valid
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    placed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)  # when the last row was placed, or it was refused or withdrawn
    claim = models.UUIDField(null=True)  # of the worker that moves it on: writes of an earlier one find nothing
    claimed_at = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)  # begun since a row was last settled

    objects = ScopedManager()
    scope = ("ordering_organisation_id",)

    WORKING: ClassVar[tuple[str, ...]] = ("checking", "placing")

    class Meta:
        indexes = [
            models.Index(fields=["ordering_organisation", "-created_at"], name="manifest_of_organisation"),
            models.Index(fields=["claimed_at"], condition=Q(state__in=["checking", "placing"]), name="manifest_working"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.ordering_organisation_id

    @property
    def working(self) -> bool:
        """A platform worker moves it on."""
        return self.state in self.WORKING

    @property
    def time_zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)


class ManifestRow(models.Model):
    """One order that a manifest asks for."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the ordering one
    manifest = models.ForeignKey(Manifest, on_delete=models.PROTECT, related_name="rows")
    number = models.PositiveIntegerField()  # as a spreadsheet counts, the header being row 1
    cells = models.JSONField()  # column → text
    rank = models.PositiveSmallIntegerField()  # of the priority: STAT is checked and placed first
    state = models.CharField(max_length=10, default="pending")
    entry = models.TextField(blank=True)  # of the ZIP
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True)
    intake = models.OneToOneField("orders.Intake", on_delete=models.PROTECT, null=True, related_name="+")
    content_hash = models.CharField(max_length=64, blank=True)  # of all it says, file included
    objections = models.JSONField(default=list)  # [{column, words, code}]
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, null=True, related_name="manifest_rows")
    settled_at = models.DateTimeField(null=True)

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["manifest", "number"], name="one_row_per_number"),
            models.UniqueConstraint(
                fields=["organisation_id", "content_hash"], condition=Q(state="placed"), name="one_order_per_manifest_row"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["placed", "before"]) | Q(order__isnull=False), name="placed_row_has_order"
            ),
        ]
        indexes = [
            models.Index(fields=["manifest", "state", "rank", "number"], name="manifest_row_next"),
            models.Index(fields=["manifest", "content_hash"], name="manifest_row_twin"),
        ]
