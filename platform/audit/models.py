"""Events hold ids and printed names, no clinical values, and no foreign keys: they outlive what they speak of."""

from django.db import models

from foundation.scoping import ScopedManager


class Event(models.Model):
    """Something that happened. Written unsealed by the business transaction; a sealer chains committed rows later."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    organisation_id = models.UUIDField()
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=200)
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=64)
    reason = models.CharField(max_length=500, blank=True)
    facts = models.JSONField(default=dict)
    origin = models.CharField(max_length=80, blank=True, db_default="")  # from where: "page, 192.0.2.7"; blank: a process of ours

    objects = ScopedManager()
    scope_verb = "view_audit"

    class Meta:
        indexes = [
            models.Index(fields=["object_type", "object_id", "id"], name="event_of_object"),
            models.Index(fields=["organisation_id", "id"], name="event_of_organisation"),
        ]


class LastRead(models.Model):
    """When somebody last looked at something, as far as an event says so: looks of the next minutes are the same one."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    actor_id = models.UUIDField()
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=64)
    at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "view_audit"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["actor_id", "action", "object_type", "object_id"], name="one_last_read"),
        ]
