"""What is kept of outputs for comparison: a row of each result for some days, counts of each hour for good. No sequence, no name.

All rows belong to the laboratory whose test it is; who may look is `view_drift`.
"""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from foundation.scoping import ScopedManager
from registry.models import Deployment, ModelVersion, TestVersion


class Feature(models.TextChoices):
    """What is measured of a result."""

    DELTA = "delta", "Δ of the variant, in nats"
    BITS = "bits", "bits per base of the reference window, or of the sequence"
    BASES = "bases", "bases that were scored"
    FLAGS = "flags", "flags of the result"
    FAILED = "failed", "items that could not be scored"


class Request(models.Model):
    """One result, without what it says of whom. Partitioned by day (`drift.partitions`); written with its result."""

    pk = models.CompositePrimaryKey("at", "result_id")
    at = models.DateTimeField()  # of the result
    result_id = models.BigIntegerField()
    organisation_id = models.UUIDField()  # the performing laboratory
    site_id = models.UUIDField(null=True)  # that ordered
    test_version_id = models.UUIDField(null=True)  # null: a question
    model_version_id = models.UUIDField()
    delta = models.FloatField(null=True)
    bits = models.FloatField(null=True)  # −log₂ of the probability, for each base
    bases = models.IntegerField(null=True)
    tier = models.SmallIntegerField()  # rank of its job: 0 STAT … 3 routine, 4 beside orders
    flags = models.SmallIntegerField()  # how many
    failed = models.BooleanField()
    kind = models.CharField(max_length=10)  # of its run; only clinical ones are compared
    deployment_id = models.CharField(max_length=80)
    worker = models.CharField(max_length=80)

    objects = ScopedManager()
    scope_verb = "view_drift"


class Missing(models.Model):
    """Results that were committed and could not be recorded here: what lies around is never green. Insert-only."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    organisation_id = models.UUIDField()
    test_version_id = models.UUIDField(null=True)
    model_version_id = models.UUIDField()
    deployment_id = models.CharField(max_length=80)
    kind = models.CharField(max_length=10)
    number = models.PositiveIntegerField()
    why = models.CharField(max_length=200)

    objects = ScopedManager()
    scope_verb = "view_drift"


class FrozenReference(models.Model):
    """How one feature was distributed when somebody said: this is how it shall be. Frozen; a new one ends the old one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField(db_index=True)
    test_version = models.ForeignKey(TestVersion, on_delete=models.PROTECT, related_name="+")
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="+")
    deployment = models.ForeignKey(Deployment, on_delete=models.PROTECT, related_name="+")
    feature = models.CharField(max_length=10, choices=Feature.choices)
    since = models.DateField()  # results of these days, in UTC, both inside
    until = models.DateField()
    edges = ArrayField(models.FloatField())  # `measures.edges_of`
    counts = ArrayField(models.BigIntegerField())  # one more than edges
    n = models.PositiveBigIntegerField()
    total = models.FloatField()
    squares = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    sha256 = models.CharField(max_length=64)  # of its canonical content
    frozen_by = models.UUIDField(null=True)  # without a foreign key, as in events
    frozen_by_name = models.CharField(max_length=200)
    frozen_at = models.DateTimeField()
    ended_on = models.DateField(null=True)  # from this day on another one counts

    objects = ScopedManager()
    scope_verb = "view_drift"

    class Meta:
        db_table = "drift_reference"
        constraints = [
            models.UniqueConstraint(
                fields=["test_version", "model_version", "deployment", "feature"], condition=Q(ended_on=None),
                name="one_live_reference",
            )
        ]  # fmt: skip


class Hist(models.Model):
    """Counts of one hour against one reference: of all its results, or of those of a tier, a site or a worker."""

    pk = models.CompositePrimaryKey("reference_id", "slice", "key", "hour")
    hour = models.DateTimeField(db_index=True)
    reference = models.ForeignKey(FrozenReference, on_delete=models.PROTECT, related_name="+")
    organisation_id = models.UUIDField()
    slice = models.CharField(max_length=6)  # all | tier | site | worker; the test is the reference's
    key = models.CharField(max_length=80, blank=True)
    n = models.PositiveBigIntegerField()
    total = models.FloatField()
    squares = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    counts = ArrayField(models.BigIntegerField())  # one more than the reference's edges

    objects = ScopedManager()
    scope_verb = "view_drift"


class Hour(models.Model):
    """When an hour was counted last, and how many rows it had then."""

    hour = models.DateTimeField(primary_key=True)
    rows = models.PositiveBigIntegerField(default=0)
    done_at = models.DateTimeField(null=True)  # null: to be counted (again)


class Window(models.Model):
    """One day of a stream: what was counted, how far it lies from its reference, what the tests said then. Insert-only."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    reference = models.ForeignKey(FrozenReference, on_delete=models.PROTECT, related_name="windows")
    day = models.DateField()  # in UTC
    n = models.PositiveBigIntegerField()
    mean = models.FloatField()  # 0 where there is none
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    counts = ArrayField(models.BigIntegerField())
    hours = models.PositiveSmallIntegerField()  # of 24 that were counted
    missing = models.PositiveIntegerField()  # results that were not recorded
    light = models.CharField(max_length=10)  # `streams.Light`, of the monitors alone
    distance = models.FloatField()  # Kolmogorov-Smirnov, of the last window with enough
    merged = models.FloatField()  # of the last five together
    gate = models.FloatField()
    plain = models.FloatField()  # evidence of the plain test, ln; minus infinity before it has any
    whitened = models.FloatField()  # of the pre-whitened one
    limit = models.FloatField()  # of both
    psi = models.FloatField(null=True)  # of this day alone, as the next ones; null: nothing was counted
    psi_chance = models.FloatField(null=True)
    wasserstein = models.FloatField(null=True)  # in standard deviations of the reference; null too where that is 0
    jensen_shannon = models.FloatField(null=True)
    code = models.CharField(max_length=64)  # SHA-256 of measures, tests and thresholds
    made_at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "view_drift"

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference", "day"], name="one_window_per_day")]

    @property
    def verdict(self) -> str:
        """What is shown: a call always; else a gap, which is never green; else what the monitors say."""
        if self.light in ("page", "gross"):
            return self.light
        return "gap" if self.missing or self.hours < 24 else self.light


class Following(models.Model):
    """How far a stream was followed, and its state then (`drift.kept`)."""

    reference = models.OneToOneField(FrozenReference, on_delete=models.PROTECT, primary_key=True, related_name="following")
    organisation_id = models.UUIDField()
    day = models.DateField()  # of its last window; before the first: the last one of its reference
    stream = models.JSONField()

    objects = ScopedManager()
    scope_verb = "view_drift"


class Call(models.Model):
    """People are called to a stream, until one of them closes it with a reason."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()
    reference = models.ForeignKey(FrozenReference, on_delete=models.PROTECT, related_name="calls")
    window = models.ForeignKey(Window, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=12, default="open")
    version = models.PositiveIntegerField(default=1)
    opened_at = models.DateTimeField()
    seen_by = models.CharField(max_length=200, blank=True)
    seen_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=200, blank=True)
    closed_at = models.DateTimeField(null=True)
    closed_after = models.DateField(null=True)  # the last window before the evidence began anew
    words = models.CharField(max_length=500, blank=True)  # what it was

    objects = ScopedManager()
    scope_verb = "view_drift"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reference"], condition=~Q(state="closed"), name="one_open_call"),
            models.CheckConstraint(
                condition=~Q(state="closed") | (Q(closed_at__isnull=False, closed_after__isnull=False) & ~Q(words="")),
                name="call_closed_with_reason",
            ),
        ]

    @property
    def audit_organisation_id(self) -> uuid.UUID:
        """Whose auditors see its events."""
        return self.organisation_id
