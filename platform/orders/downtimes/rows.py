"""A downtime, the orders that were entered late after it, the STAT lists that people had, and the lines to reconcile."""

import uuid
from datetime import timedelta
from typing import ClassVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.models import Organisation, User
from foundation.scoping import ScopedManager

MOST_BACK = timedelta(days=60)  # between the beginning of a downtime and its record, and between its end and the last late entry


class What(models.TextChoices):
    """What was down."""

    EVERYTHING = "everything", "Helicase as a whole"
    PAGES = "pages", "The pages"
    INTERFACES = "interfaces", "API and FHIR"
    SCORING = "scoring", "The scoring of orders"
    NETWORK = "network", "The network of the house"
    OTHER = "other", "Something else, in words"


class LateReason(models.TextChoices):
    """Why an order was taken on paper, or is entered only now."""

    UNREACHABLE = "unreachable", "Helicase could not be reached"
    INTERFACE = "interface", "The interface did not take it"
    LOGIN = "login", "Nobody could log in"
    FOUND = "found", "The paper was found only later"
    OTHER = "other", "Another reason, in words"


class StatList(models.Model):
    """A STAT list in a window of a person, as it was read last. A window that was cut off leaves its row as it was."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")  # the performing laboratory
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    began_at = models.DateTimeField()
    read_at = models.DateTimeField()
    orders = ArrayField(models.UUIDField())

    objects = ScopedManager()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(read_at__gte=F("began_at")), name="stat_list_read_after_it_began")]
        indexes = [models.Index(fields=["organisation", "-read_at"], name="stat_list_latest")]

    @property
    def number(self) -> str:
        """As it stands on the paper."""
        return f"{self.pk.hex[:4]}-{self.pk.hex[4:8]}".upper()


class Downtime(models.Model):
    """A time in which a laboratory worked without Helicase, or without a part of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="downtimes")  # the laboratory
    number = models.PositiveIntegerField()  # of the laboratory, from 1
    what = models.CharField(max_length=12, choices=What.choices)
    words = models.CharField(max_length=300)  # why
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)  # null: it lasts
    entries_until = models.DateTimeField(null=True)  # when the last late entry is taken; null: while it lasts
    state = models.CharField(max_length=10, default="open")
    version = models.PositiveIntegerField(default=1)
    stat_list = models.ForeignKey(StatList, on_delete=models.PROTECT, null=True, related_name="+")  # the last one before it began
    opened_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField()
    closed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)
    closing_words = models.CharField(max_length=300, blank=True)

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "number"], name="one_downtime_per_number"),
            models.CheckConstraint(condition=Q(what__in=What.values) & ~Q(words=""), name="downtime_says_what_and_why"),
            models.CheckConstraint(
                condition=Q(began_at__lte=F("opened_at"), began_at__gte=F("opened_at") - MOST_BACK),
                name="downtime_began_before_its_record",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, entries_until=None)
                | Q(ended_at__gt=F("began_at"), entries_until__gte=F("ended_at"), entries_until__lte=F("ended_at") + MOST_BACK),
                name="downtime_ends_after_it_began",
            ),
            models.CheckConstraint(
                condition=Q(state="open", closed_at=None, closed_by=None)
                | (Q(state__in=["closed", "withdrawn"], closed_at__isnull=False, closed_by__isnull=False) & ~Q(closing_words="")),
                name="downtime_closed_by_somebody",
            ),
        ]
        indexes = [models.Index(fields=["organisation", "-began_at"], name="downtime_of_laboratory")]

    @property
    def code(self) -> str:
        """As people and manifests name it, within its laboratory."""
        return f"D{self.number}"

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id


class LateEntry(models.Model):
    """The true times of an order that was taken on paper. The order's own times say when it was entered."""

    order = models.OneToOneField("orders.Order", on_delete=models.PROTECT, primary_key=True, related_name="late_entry")
    organisation_id = models.UUIDField()  # the performing laboratory
    downtime = models.ForeignKey(Downtime, on_delete=models.PROTECT, related_name="late_entries")
    requested_at = models.DateTimeField()  # and with it accepted: from here its clocks count
    received_at = models.DateTimeField(null=True)  # its specimen; null: it had not come when the order was entered
    taken_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # who took it on paper: a person …
    taken_by_name = models.CharField(max_length=120, blank=True)  # … or a name
    reason = models.CharField(max_length=12, choices=LateReason.choices)
    words = models.CharField(max_length=300, blank=True)
    entered_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    entered_at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(reason__in=LateReason.values) & (~Q(reason="other") | ~Q(words="")), name="late_entry_says_why"
            ),
            models.CheckConstraint(
                condition=Q(taken_by=None) & ~Q(taken_by_name="") | Q(taken_by__isnull=False, taken_by_name=""),
                name="late_entry_taken_by_one",
            ),
            models.CheckConstraint(
                condition=Q(requested_at__lte=F("entered_at")) & (Q(received_at=None) | Q(received_at__lte=F("entered_at"))),
                name="late_entry_is_of_the_past",
            ),
        ]
        indexes = [models.Index(fields=["organisation_id", "requested_at"], name="late_entry_of_period")]

    @property
    def taken_by_words(self) -> str:
        """Who took it on paper, as people read it."""
        return str(self.taken_by) if self.taken_by else self.taken_by_name


class LineKind(models.TextChoices):
    """Why something has to be looked at before a downtime is closed."""

    ON_LIST = "on_list", "On the last STAT list"
    IN_PROGRESS = "in_progress", "In progress when it began"
    ENTERED_LATE = "entered_late", "Entered late"
    NO_SPECIMEN = "no_specimen", "Entered late without a specimen"
    NUMBER_TWICE = "number_twice", "A number that was entered twice"
    TOLD = "told", "Told by telephone"
    NOTED = "noted", "Noted by a person"


class DowntimeLine(models.Model):
    """Something to reconcile after a downtime, until a person has ticked it with a note."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the laboratory
    downtime = models.ForeignKey(Downtime, on_delete=models.PROTECT, related_name="lines")
    kind = models.CharField(max_length=12, choices=LineKind.choices)
    key = models.CharField(max_length=80)  # what it is about: found twice, it is one line
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, null=True, related_name="+")
    other = models.ForeignKey("orders.Order", on_delete=models.PROTECT, null=True, related_name="+")  # with the same number
    words = models.CharField(max_length=300, blank=True)
    added_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # null: found by the platform
    added_at = models.DateTimeField()
    ticked_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    ticked_at = models.DateTimeField(null=True)
    note = models.CharField(max_length=300, blank=True)

    objects = ScopedManager()
    BY_HAND: ClassVar[tuple[str, ...]] = ("told", "noted")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["downtime", "kind", "key"], name="one_line_per_matter"),
            models.CheckConstraint(condition=Q(kind__in=LineKind.values), name="downtime_line_kind_known"),
            models.CheckConstraint(
                condition=Q(ticked_at=None, ticked_by=None, note="")
                | (Q(ticked_at__isnull=False, ticked_by__isnull=False) & ~Q(note="")),
                name="downtime_line_ticked_by_somebody",
            ),
        ]
        indexes = [models.Index(fields=["downtime"], condition=Q(ticked_at=None), name="downtime_line_open")]
