"""What happened to the clocks of an order: holds, levels and delays that were told; and the rules of who is told."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from accounts.models import Organisation, User
from accounts.roles import Role
from foundation.scoping import ScopedManager
from notices.models import Channel, Endpoint
from registry.priority import Priority

LEVELS = (50, 80, 100)  # percent of the time to a due time


class Clock(models.TextChoices):
    """The two due times of an order."""

    RESULT = "result", "Results"
    REPORT = "report", "Report"


class Hold(models.Model):
    """A time in which an order waited for people. Its clocks stood still meanwhile."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, related_name="holds")
    reason = models.CharField(max_length=60)  # reason code
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)  # null: it lasts

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order"], condition=Q(until=None), name="one_hold_at_a_time"),
            models.CheckConstraint(condition=Q(until=None) | Q(until__gte=F("since")), name="hold_ends_after_it_began"),
        ]


class Escalation(models.Model):
    """One level of one clock of one promise that people were told of: once, however many look."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, related_name="escalations")
    promise = models.PositiveSmallIntegerField()
    clock = models.CharField(max_length=6, choices=Clock.choices)
    level = models.PositiveSmallIntegerField()
    due = models.DateTimeField()  # as it was then
    at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "promise", "clock", "level"], name="one_escalation_per_level"),
            models.CheckConstraint(condition=Q(level__in=LEVELS, clock__in=Clock.values), name="escalation_known"),
        ]


class EscalationRule(models.Model):
    """Who is told of a level, and by which way. Where a laboratory has no rule, `escalation_rules.DEFAULTS` count."""

    id = models.BigAutoField(primary_key=True)
    laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    clock = models.CharField(max_length=6, choices=Clock.choices)
    level = models.PositiveSmallIntegerField()
    priority = models.CharField(max_length=10, choices=Priority.choices, blank=True)  # blank: every priority
    channel = models.CharField(max_length=10, choices=Channel.choices)
    role = models.CharField(max_length=20, choices=Role.choices, blank=True)
    person = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(level__in=LEVELS, clock__in=Clock.values), name="rule_known"),
            models.CheckConstraint(
                condition=Q(channel="webhook", endpoint__isnull=False, role="", person=None)
                | (Q(channel__in=["in_app", "email"], endpoint=None) & (Q(role="") ^ Q(person=None))),
                name="rule_names_one",
            ),
        ]
        indexes = [models.Index(fields=["laboratory", "clock", "level"], condition=Q(ended_at=None), name="rule_open")]


class DelayNotice(models.Model):
    """Somebody was told that results or report come late. Written once, never altered."""

    MEANS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("phone", "by telephone"),
        ("person", "in person"),
        ("message", "by a message"),
        ("other", "in another way"),
    )

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, related_name="delay_notices")
    told = models.CharField(max_length=120)  # whom, as the person wrote it
    means = models.CharField(max_length=10, choices=MEANS)
    words = models.CharField(max_length=300, blank=True)
    told_at = models.DateTimeField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    recorded_at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(told_at__lte=F("recorded_at")), name="told_before_recorded")]
        indexes = [models.Index(fields=["order", "-told_at"], name="delay_notice_of_order")]
