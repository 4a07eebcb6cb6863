"""Answers that were given to a request with an Idempotency-Key, and orders that were asked for by FHIR."""

import uuid

from django.db import models

from accounts.models import Organisation, User
from foundation.actor import NOBODY
from foundation.scoping import ScopedManager
from orders.models import Intake, Order
from registry.priority import Priority


class KeptAnswer(models.Model):
    """What one account's key was answered with. Written by the transaction of the deed, so there is none without the other."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)  # of the request
    organisation_id = models.UUIDField(default=NOBODY)  # of what the answer speaks of
    object_id = models.UUIDField(null=True)  # what it speaks of: only who may see that is answered again
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(db_index=True)

    objects = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="one_answer_per_key")]


class FhirOrder(models.Model):
    """An order that another system asked for by FHIR: what it said, the upload it waits for, and the order that came of it.

    Its id becomes the id of the order, so that the sender keeps one address from the first answer on.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    ordering_organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    performing_laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    placer_system = models.CharField(max_length=120)
    placer_number = models.CharField(max_length=80)
    content_hash = models.CharField(max_length=64)  # of everything that was said, file included
    doubtful = models.BooleanField(default=False)  # STAT under a number that stands for something else
    priority = models.CharField(max_length=10, choices=Priority.choices)
    rank = models.PositiveSmallIntegerField()
    request = models.JSONField()  # `OrderRequest`, as the sender stated it
    said = models.JSONField()  # the resources as they came, without the file
    intake = models.ForeignKey(Intake, on_delete=models.PROTECT, related_name="+")
    order = models.OneToOneField(Order, on_delete=models.PROTECT, null=True, related_name="asked_by_fhir")
    state = models.CharField(max_length=10, default="waiting")
    version = models.PositiveIntegerField(default=1)
    code = models.CharField(max_length=60, blank=True)  # of the reason why it is parked or closed
    words = models.CharField(max_length=500, blank=True)  # the same for people
    tries = models.PositiveSmallIntegerField(default=0)  # failures of ours to place it
    sender = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    token = models.CharField(max_length=40, blank=True)  # id of the token it came with
    asked_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    objects = ScopedManager()
    scope = ("ordering_organisation_id", "performing_laboratory_id")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["ordering_organisation", "placer_system", "placer_number"],
                condition=~models.Q(state="closed") & models.Q(doubtful=False),
                name="one_fhir_order_per_number",
            ),
            models.UniqueConstraint(
                fields=["ordering_organisation", "placer_system", "placer_number", "content_hash"],
                condition=~models.Q(state="closed"),
                name="one_fhir_order_per_content",
            ),
            models.CheckConstraint(
                condition=models.Q(state="placed", order__isnull=False) | (~models.Q(state="placed") & models.Q(order=None)),
                name="fhir_order_placed_is_an_order",
            ),
            models.CheckConstraint(condition=~models.Q(state="parked") | ~models.Q(code=""), name="fhir_order_parked_says_why"),
        ]
        indexes = [
            models.Index(fields=["rank", "asked_at"], condition=models.Q(state__in=["waiting", "parked"]), name="fhir_order_open"),
        ]

    @property
    def audit_organisation_id(self) -> uuid.UUID:
        """Whose auditors see its events."""
        return self.performing_laboratory_id
