"""What was told, to whom it was shown, and what left by e-mail or webhook. Ids and codes only; nothing clinical."""

import uuid
from typing import ClassVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Organisation, User


class Channel(models.TextChoices):
    """How somebody is told."""

    IN_APP = "in_app", "on the page"
    EMAIL = "email", "by e-mail"
    WEBHOOK = "webhook", "by webhook"


class Notice(models.Model):
    """One thing to tell, whoever is told."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key = models.CharField(max_length=120, unique=True)  # of what happened: telling it again makes no second one
    kind = models.CharField(max_length=40)
    organisation_id = models.UUIDField()  # the performing laboratory
    parties = ArrayField(models.UUIDField())  # who belongs to none of them any more, reads it no more
    order_id = models.UUIDField(null=True)
    accession = models.CharField(max_length=20, blank=True)
    facts = models.JSONField(default=dict)
    at = models.DateTimeField()


class Receipt(models.Model):
    """One person's copy on the page."""

    id = models.BigAutoField(primary_key=True)
    notice = models.ForeignKey(Notice, on_delete=models.PROTECT, related_name="receipts")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["notice", "user"], name="one_receipt_per_person")]
        indexes = [
            models.Index(fields=["user", "-id"], name="receipt_of_person"),
            models.Index(fields=["user"], condition=Q(read_at=None), name="receipt_unread"),
        ]


class Endpoint(models.Model):
    """An address of another system, with a secret that signs what is sent there; it is kept sealed (`notices.sealing`)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=80)
    url = models.CharField(max_length=500)
    nonce = models.CharField(max_length=64, blank=True, default="")  # of no use any more: processes of before read it
    sealed = models.TextField(blank=True, default="", db_default="")
    sealed_before = models.TextField(blank=True, default="", db_default="")  # the secret before, which signs along …
    before_until = models.DateTimeField(null=True)  # … up to then
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], condition=Q(ended_at=None), name="one_endpoint_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One notice to one address outside, until it is there or somebody has to look."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()
    notice = models.ForeignKey(Notice, on_delete=models.PROTECT, related_name="deliveries")
    channel = models.CharField(max_length=10, choices=Channel.choices)
    user = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # of an e-mail …
    address = models.EmailField(blank=True, default="", db_default="")  # … or of one to somebody who has no account
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="deliveries")  # of a webhook
    state = models.CharField(max_length=10, default="queued")
    version = models.PositiveIntegerField(default=1)
    attempts = models.PositiveSmallIntegerField(default=0)  # since it was last queued by somebody
    not_before = models.DateTimeField()  # the next attempt; while one is made: when it counts as lost
    last_error = models.CharField(max_length=300, blank=True)  # in words
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)  # sent, or given up

    STATES: ClassVar[tuple[str, ...]] = ("queued", "sent", "failed")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["notice", "channel", "user", "endpoint", "address"], name="one_delivery", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=(Q(channel="email", endpoint=None) & (Q(user=None) ^ Q(address="")))
                | Q(channel="webhook", endpoint__isnull=False, user=None, address=""),
                name="delivery_has_an_address",
            ),
        ]
        indexes = [
            models.Index(fields=["not_before"], condition=Q(state="queued"), name="delivery_queued"),
            models.Index(fields=["organisation_id", "-created_at"], name="delivery_of_organisation"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id
