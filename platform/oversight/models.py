"""Checks of the audit chain: kept for good, so that it is known when it was last found whole, and by whom."""

import uuid
from typing import ClassVar
from uuid import UUID

from django.db import models
from django.db.models import Func, Value

from foundation.actor import NOBODY
from oversight.retention_models import LegalHold, RetentionRule

__all__ = ["LegalHold", "RetentionRule"]  # nouns with a file of their own


class Check(models.Model):
    """One check of the whole chain, which is of the house: it names no patient, and no event but by its number."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # In the order in which Postgres took them.
    number = models.BigIntegerField(db_default=Func(Value("oversight_check_number"), function="nextval"), editable=False)
    asked_by = models.UUIDField(null=True)  # without a foreign key, as in events; nobody: by itself
    asked_by_name = models.CharField(max_length=200)
    state = models.CharField(max_length=10, default="waiting")
    version = models.PositiveIntegerField(default=1)
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)  # when its worker last said how far it is
    ended_at = models.DateTimeField(null=True)
    done = models.BigIntegerField(default=0)  # links
    whole = models.BigIntegerField(default=0)
    said = models.CharField(max_length=300, blank=True, default="")  # why it failed
    seen = models.JSONField(default=dict)  # `checks.as_facts`
    mark = models.CharField(max_length=64, blank=True, default="")  # digest of the newest anchor it saw

    OPEN: ClassVar[tuple[str, ...]] = ("waiting", "running")
    ENDED: ClassVar[tuple[str, ...]] = ("good", "incomplete", "broken", "failed")

    class Meta:
        indexes = [models.Index(fields=["-asked_at"], name="check_newest")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=("waiting", "running"), ended_at=None)
                | models.Q(state__in=("good", "incomplete", "broken", "failed"), ended_at__isnull=False),
                name="check_ended_with_time",
            ),
            models.UniqueConstraint(fields=["number"], name="check_numbers"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Of the house: whoever sees the trail of one organisation sees no other."""
        return NOBODY
