"""One row per organisation and content."""

import uuid

from django.db import models

from foundation.scoping import ScopedManager


class StoredFile(models.Model):
    """A file an organisation owns; the bytes lie under their SHA-256."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField(db_index=True)
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    kind = models.CharField(max_length=20)  # upload | report | attachment
    name = models.CharField(max_length=255)  # as the person named it; never part of a path
    created_at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation_id", "sha256", "kind"], name="one_row_per_content")]
