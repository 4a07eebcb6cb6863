"""Messages wait here until a dispatcher has handed them over."""

from django.db import models


class Message(models.Model):
    """One thing to hand over after the commit. `payload` holds ids and a format version, no clinical data."""

    id = models.BigAutoField(primary_key=True)
    topic = models.CharField(max_length=60)
    payload = models.JSONField()
    organisation_id = models.UUIDField()
    created_at = models.DateTimeField()
    not_before = models.DateTimeField()
    tries = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["not_before", "id"], condition=models.Q(sent_at=None), name="message_waiting")]
