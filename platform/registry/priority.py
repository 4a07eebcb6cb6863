"""Priorities and how they rank, from every door to the engine."""

from django.db import models


class Priority(models.TextChoices):
    """FHIR request priority; ASAP stands above urgent."""

    STAT = "stat", "STAT"
    ASAP = "asap", "ASAP"
    URGENT = "urgent", "Urgent"
    ROUTINE = "routine", "Routine"


PRIORITY_RANK: dict[str, int] = {Priority.STAT: 0, Priority.ASAP: 1, Priority.URGENT: 2, Priority.ROUTINE: 3}
BELOW_ROUTINE = 4  # of what nobody ordered: an engine turns to it when no order waits
