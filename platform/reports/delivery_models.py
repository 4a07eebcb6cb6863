"""Who gets the reports of an order, what became of each, and the calls with a critical result."""

import uuid
from typing import ClassVar
from uuid import UUID

from django.db import models
from django.db.models import F, Q

from accounts.models import Organisation, Provider, User
from foundation.scoping import ScopedManager
from orders.models import Order

MEANS: tuple[tuple[str, str], ...] = (
    ("phone", "by telephone"),
    ("person", "in person"),
    ("fax", "by fax"),
    ("post", "by post"),
    ("other", "in another way"),
)


class Part(models.TextChoices):
    """Why somebody gets the reports of an order."""

    REQUESTER = "requester", "Requester"
    PROVIDER = "provider", "Ordering provider"
    COPY = "copy", "Copy"
    HOSPITAL = "hospital", "Other hospital"
    READER = "reader", "Has read an earlier version"


class Recipient(models.Model):
    """Somebody who gets the reports of an order: a person, a provider without an account, or another hospital."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="recipients")
    part = models.CharField(max_length=10, choices=Part.choices)
    user = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, null=True, related_name="+")
    hospital = models.ForeignKey(Organisation, on_delete=models.PROTECT, null=True, related_name="+")
    name = models.CharField(max_length=200)  # as it was then
    address = models.EmailField(blank=True)  # where a hospital, or a provider without an account, is told that there is something
    added_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # null: it came with the order
    added_at = models.DateTimeField()
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)  # gets no further report, but is told what is wrong with one that he got

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "user"], condition=Q(user__isnull=False), name="one_recipient_per_person"),
            models.UniqueConstraint(
                fields=["order", "provider"], condition=Q(provider__isnull=False), name="one_recipient_per_provider"
            ),
            models.UniqueConstraint(
                fields=["order", "hospital"], condition=Q(hospital__isnull=False), name="one_recipient_per_hospital"
            ),
            models.CheckConstraint(
                condition=Q(part__in=Part.values)
                & (
                    Q(user__isnull=False, provider=None, hospital=None)
                    | Q(user=None, provider__isnull=False, hospital=None)
                    | Q(user=None, provider=None, hospital__isnull=False)
                ),
                name="recipient_is_somebody",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class News(models.TextChoices):
    """What a delivery tells."""

    ISSUED = "issued", "issued"
    CORRECTED = "corrected", "corrected"
    RECALLED = "recalled", "recalled"


class ReportDelivery(models.Model):
    """One version to one recipient: how he is told, and whether he has read it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="deliveries")
    report_version = models.ForeignKey("reports.ReportVersion", on_delete=models.PROTECT, related_name="deliveries")
    recipient = models.ForeignKey(Recipient, on_delete=models.PROTECT, related_name="deliveries")
    news = models.CharField(max_length=10, choices=News.choices)
    replaces = models.PositiveIntegerField(null=True)  # the number of the version whose place this one takes
    state = models.CharField(max_length=12, default="queued")
    version = models.PositiveIntegerField(default=1)
    channels = models.JSONField(default=list)  # the ways that were found for him when it was last sent
    turn = models.PositiveSmallIntegerField(default=1)  # how often it was sent
    last_error = models.CharField(max_length=300, blank=True)  # in words
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)
    opened_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")

    objects = ScopedManager()

    WAYS: ClassVar[dict[str, str]] = {"in_app": "on the page", "email": "by e-mail", "fhir": "by FHIR, when it is fetched"}

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["report_version", "recipient", "news"], name="one_delivery_per_recipient"),
            models.CheckConstraint(condition=Q(news__in=News.values), name="delivery_news_known"),
            models.CheckConstraint(
                condition=Q(state__in=["opened", "acknowledged"], opened_at__isnull=False, opened_by__isnull=False)
                | (~Q(state__in=["opened", "acknowledged"]) & Q(opened_at=None, opened_by=None)),
                name="delivery_opened_by_somebody",
            ),
            models.CheckConstraint(
                condition=Q(state="acknowledged", acknowledged_at__isnull=False, acknowledged_by__isnull=False)
                | (~Q(state="acknowledged") & Q(acknowledged_at=None, acknowledged_by=None)),
                name="delivery_acknowledged_by_somebody",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(last_error=""), name="delivery_says_why_it_failed"),
        ]
        indexes = [
            models.Index(fields=["organisation_id"], condition=Q(state="failed"), name="delivery_failed"),
            models.Index(fields=["order", "created_at"], name="delivery_of_order"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id

    @property
    def ways(self) -> str:
        """How he is told, in words."""
        return " and ".join(self.WAYS[way] for way in self.channels)


class DeliveryNote(models.Model):
    """What happened to a delivery besides its state: an attempt that failed, sent again, told in another way. Insert-only."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    delivery = models.ForeignKey(ReportDelivery, on_delete=models.PROTECT, related_name="notes")
    kind = models.CharField(max_length=6, choices=[("failed", "failed"), ("again", "sent again"), ("told", "told in another way")])
    words = models.CharField(max_length=300, blank=True)
    told = models.CharField(max_length=120, blank=True)  # whom, as the person wrote it
    means = models.CharField(max_length=10, choices=MEANS, blank=True)
    told_at = models.DateTimeField(null=True)
    by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # null: the platform itself
    at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="told", by__isnull=False, told_at__isnull=False, told_at__lte=F("at"))
                & ~Q(told="")
                & Q(means__in=[value for value, _ in MEANS])
                | Q(kind="again", by__isnull=False, told="", means="", told_at=None)
                | Q(kind="failed", by=None, told="", means="", told_at=None) & ~Q(words=""),
                name="delivery_note_says_what_it_must",
            )
        ]


class Critical(models.Model):
    """A person found a result critical: the provider is called, until somebody has read it back."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="criticals")
    ordinal = models.PositiveIntegerField(null=True)  # of the result; null: the report as a whole
    reason = models.CharField(max_length=500)
    marked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    marked_at = models.DateTimeField()
    state = models.CharField(max_length=10, default="open")
    version = models.PositiveIntegerField(default=1)
    closed_at = models.DateTimeField(null=True)

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["order", "ordinal"], condition=Q(state="open"), name="one_open_call_per_result", nulls_distinct=False
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="critical_has_a_reason"),
            models.CheckConstraint(
                condition=Q(state="open", closed_at=None) | Q(state="read_back", closed_at__isnull=False), name="critical_closed"
            ),
        ]
        indexes = [models.Index(fields=["marked_at"], condition=Q(state="open"), name="critical_open")]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id

    @property
    def what(self) -> str:
        """Which result, as the report numbers them."""
        return "the report as a whole" if self.ordinal is None else f"result {self.ordinal + 1}"


class Outcome(models.TextChoices):
    """What came of a call."""

    READ_BACK = "read_back", "reached, and read back"
    NOT_REACHED = "not_reached", "not reached"
    REFUSED = "refused", "refused"


class CriticalCall(models.Model):
    """One attempt to call. Insert-only."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    critical = models.ForeignKey(Critical, on_delete=models.PROTECT, related_name="calls")
    whom = models.CharField(max_length=120)  # name and role
    number = models.CharField(max_length=60)  # that was dialled
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    read_back = models.CharField(max_length=500, blank=True)  # the words that were read back
    words = models.CharField(max_length=300, blank=True)
    called_at = models.DateTimeField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=(Q(outcome="read_back") & ~Q(read_back="")) | Q(outcome__in=["not_reached", "refused"], read_back=""),
                name="read_back_says_what",
            ),
            models.CheckConstraint(condition=Q(called_at__lte=F("at")), name="called_before_recorded"),
        ]


class CriticalLevel(models.Model):
    """A share of the time for a call that people were told of: once, however many look. Insert-only."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    critical = models.ForeignKey(Critical, on_delete=models.PROTECT, related_name="levels")
    level = models.PositiveSmallIntegerField()
    at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["critical", "level"], name="one_telling_per_level")]
