"""Events hold ids and printed names, no clinical values, and no foreign keys: they outlive what they speak of."""

from django.db import models

from foundation.scoping import ScopedManager


class CurrentTransaction(models.Func):
    """The number of the transaction that writes the row, its outermost one."""

    function = "pg_current_xact_id"
    template = "(%(function)s()::text::bigint)"
    output_field = models.BigIntegerField()


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
    xact = models.BigIntegerField(null=True, db_default=CurrentTransaction())

    objects = ScopedManager()
    scope_verb = "view_audit"

    class Meta:
        indexes = [
            models.Index(fields=["object_type", "object_id", "id"], name="event_of_object"),
            models.Index(fields=["organisation_id", "id"], name="event_of_organisation"),
            models.Index(fields=["xact", "id"], condition=models.Q(xact__isnull=False), name="event_by_transaction"),
        ]


class Link(models.Model):
    """The seal of one event: its digest, and in its hash that of the link before. Written by the sealer, by nobody changed."""

    seq = models.BigIntegerField(primary_key=True)  # 1, 2, 3, without a gap
    event_id = models.BigIntegerField(unique=True)
    organisation_id = models.UUIDField()
    recipe = models.PositiveSmallIntegerField()  # of `audit.canonical`
    sealed_at = models.DateTimeField()
    digest = models.BinaryField()
    hash = models.BinaryField()

    objects = ScopedManager()
    scope_verb = "view_audit"


class Sealing(models.Model):
    """How the sealer is getting on, in its own words; one row. What it says proves nothing: `audit.verifying` looks."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    looked_at = models.DateTimeField(null=True)  # when it last looked for events
    swept = models.BooleanField(default=False)  # it has looked at every event from before its start
    held_up = models.CharField(max_length=300, blank=True, default="")  # by which open transaction
    anchored_at = models.DateTimeField(null=True)
    anchored_seq = models.BigIntegerField(default=0)
    anchor = models.CharField(max_length=64, blank=True, default="")  # digest of the line that it wrote last
    trouble = models.CharField(max_length=300, blank=True, default="")  # with the anchors
    trouble_at = models.DateTimeField(null=True)


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
