"""Answers that were given to a request with an Idempotency-Key."""

import uuid

from django.db import models

from accounts.models import User
from foundation.actor import NOBODY
from foundation.scoping import ScopedManager


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
