"""Drafts of orders, comments on orders, files attached to them."""

import uuid
from uuid import UUID

from django.db import models
from django.db.models import Q

from accounts.models import Organisation, User
from foundation.scoping import ScopedManager
from orders.models import Intake, Order
from storage.models import StoredFile


class Draft(models.Model):
    """An order form as far as its owner has filled it in. Nobody else ever sees it; what was typed goes when it ends."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")  # that it is ordered for
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    typed = models.JSONField(default=dict)  # field → text
    intake = models.ForeignKey(Intake, on_delete=models.PROTECT, null=True, related_name="+")
    state = models.CharField(max_length=10, default="open")
    version = models.PositiveIntegerField(default=1)
    window = models.CharField(max_length=36, blank=True)  # that saved it last; blank: a page without scripts
    created_at = models.DateTimeField()
    saved_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, null=True, related_name="+")  # that came of it

    objects = ScopedManager()
    scope_verb = "place"

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open") | Q(typed={}, ended_at__isnull=False), name="ended_draft_says_nothing"
            ),
            models.CheckConstraint(condition=Q(state="placed") | Q(order=None), name="draft_of_order_is_placed"),
        ]
        indexes = [
            models.Index(fields=["owner", "-saved_at"], condition=Q(state="open"), name="draft_of_owner"),
            models.Index(fields=["expires_at"], condition=Q(state="open"), name="draft_open"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id


class Comment(models.Model):
    """What somebody wrote about an order. Never changed: a correction is another comment, which withdraws this one."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")  # the performing laboratory
    shared_with = models.ForeignKey(Organisation, on_delete=models.PROTECT, null=True, related_name="+")  # null: internal
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="comments")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    text = models.CharField(max_length=2000)
    at = models.DateTimeField()
    withdraws = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="withdrawn_by")

    objects = ScopedManager()
    scope = ("organisation_id", "shared_with_id")

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(text=""), name="comment_says_something")]
        indexes = [models.Index(fields=["order", "id"], name="comment_of_order")]

    @property
    def internal(self) -> bool:
        """For the performing laboratory alone."""
        return self.shared_with_id is None


class FileKind(models.TextChoices):
    """What an attached file is to the order."""

    REQUISITION = "requisition", "Requisition"
    PEDIGREE = "pedigree", "Pedigree"
    CONSENT = "consent", "Consent"
    FINDINGS = "findings", "Earlier findings"
    OTHER = "other", "Other"


class Attachment(models.Model):
    """A file laid beside an order. It is withdrawn, never deleted."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")  # the performing laboratory
    shared_with = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")  # who ordered
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="attachments")
    number = models.PositiveSmallIntegerField()  # of the order's files
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=255)  # as the person named it; never part of a path or of a header
    media_type = models.CharField(max_length=40)  # as its first bytes say
    kind = models.CharField(max_length=20, choices=FileKind.choices)
    added_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField()
    state = models.CharField(max_length=10, default="kept")
    version = models.PositiveIntegerField(default=1)
    withdrawn_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_reason = models.CharField(max_length=300, blank=True)

    objects = ScopedManager()
    scope = ("organisation_id", "shared_with_id")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "number"], name="one_number_per_attachment"),
            models.UniqueConstraint(fields=["order", "file"], condition=Q(state="kept"), name="one_attachment_per_content"),
            models.CheckConstraint(condition=Q(kind__in=FileKind.values), name="attachment_kind_known"),
            models.CheckConstraint(
                condition=Q(state="kept") | (Q(withdrawn_by__isnull=False) & ~Q(withdrawn_reason="")), name="withdrawn_with_reason"
            ),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id
