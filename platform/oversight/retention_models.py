"""How long a laboratory keeps its records, and what must not be deleted whatever its age."""

from django.db import models
from django.db.models import F, Q

from accounts.models import User
from foundation.scoping import ScopedManager
from oversight.record_classes import CLASSES, MOST_DAYS

FLOORS = {one.code: one.floor for one in CLASSES}


class HoldKind(models.TextChoices):
    """What a legal hold is on."""

    ORDER = "order", "One order"
    PATIENT = "patient", "All orders of one patient"
    PERIOD = "period", "Everything of a period"
    LABORATORY = "laboratory", "Everything of the laboratory"


class RetentionRule(models.Model):
    """How long records of a class are kept from now on. Insert-only: the newest stands, and the others tell what stood before."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    record_class = models.CharField(max_length=20)
    days = models.PositiveIntegerField()
    words = models.CharField(max_length=500)
    set_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    set_at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "legal_hold"

    class Meta:
        indexes = [models.Index(fields=["organisation_id", "record_class", "-id"], name="retention_rule_newest")]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    *[Q(record_class=name, days__gte=floor, days__lte=MOST_DAYS) for name, floor in FLOORS.items()], _connector=Q.OR
                ),
                name="retention_not_below_its_floor",
            ),
            models.CheckConstraint(condition=~Q(words=""), name="retention_rule_has_a_reason"),
        ]


class LegalHold(models.Model):
    """While it stands, nothing that it is on is deleted. Placed by one person, lifted by another, each once and with words."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    kind = models.CharField(max_length=12)
    order_id = models.UUIDField(null=True)
    patient_id = models.UUIDField(null=True)
    first_at = models.DateTimeField(null=True)
    until_at = models.DateTimeField(null=True)
    about = models.CharField(max_length=200)  # the same for people
    words = models.CharField(max_length=500)
    placed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    placed_at = models.DateTimeField()
    lifted_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    lifted_at = models.DateTimeField(null=True)
    lifted_words = models.CharField(max_length=500, blank=True, default="")

    objects = ScopedManager()
    scope_verb = "legal_hold"

    class Meta:
        indexes = [models.Index(fields=["organisation_id"], condition=Q(lifted_at=None), name="legal_hold_standing")]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="laboratory", order_id=None, patient_id=None, first_at=None, until_at=None)
                | Q(kind="order", order_id__isnull=False, patient_id=None, first_at=None, until_at=None)
                | Q(kind="patient", order_id=None, patient_id__isnull=False, first_at=None, until_at=None)
                | Q(kind="period", order_id=None, patient_id=None, until_at__gt=F("first_at")),
                name="legal_hold_is_on_one_thing",
            ),
            models.CheckConstraint(condition=~Q(words=""), name="legal_hold_has_a_reason"),
            models.CheckConstraint(
                condition=Q(lifted_at=None, lifted_by=None, lifted_words="")
                | Q(lifted_at__isnull=False, lifted_by__isnull=False) & ~Q(lifted_words=""),
                name="legal_hold_lifting_is_whole",
            ),
            models.CheckConstraint(condition=~Q(lifted_by=F("placed_by")), name="legal_hold_lifted_by_another"),
        ]
