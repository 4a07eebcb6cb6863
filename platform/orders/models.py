"""Who is tested, for whom, on what: patient, specimen, intake, order."""

import uuid
from functools import reduce
from operator import or_
from typing import ClassVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper

from accounts.models import Organisation, Provider, Site, User
from engine_queue.models import Item, ItemSet
from foundation.scoping import ScopedManager
from orders.identity_models import IdentityCheck, Merge, Move, PatientChange
from orders.manifests.rows import Manifest, ManifestRow
from orders.order_indexes import BY_PLACING, LISTS, OF_PERIOD
from orders.specimen_models import Specimen, SpecimenCorrection
from registry.models import Calendar, TestVersion
from registry.priority import PRIORITY_RANK, Priority
from storage.models import StoredFile

__all__ = [
    "IdentityCheck",
    "Manifest",
    "ManifestRow",
    "Merge",
    "Move",
    "PatientChange",
    "Specimen",
    "SpecimenCorrection",
]  # nouns with files of their own
_PARTIES = ("ordering_organisation_id", "performing_laboratory_id")
_ENDED_EARLY = ("cancelled", "rejected", "entered_in_error")
STANDING = Q(accepted_at__isnull=False) | ~Q(state__in=_ENDED_EARLY)
"""Orders that were accepted or may still be: one that ended before that is in no other's place."""


class Sex(models.TextChoices):
    """Administrative sex, as FHIR codes it."""

    FEMALE = "female", "Female"
    MALE = "male", "Male"
    OTHER = "other", "Other"
    UNKNOWN = "unknown", "Unknown"


class Patient(models.Model):
    """A person as one organisation knows him."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT)
    family_name = models.CharField(max_length=120)
    given_name = models.CharField(max_length=120)
    birth_date = models.DateField()
    sex = models.CharField(max_length=10, choices=Sex.choices)
    created_at = models.DateTimeField()
    edits = models.PositiveIntegerField(default=1, db_default=1)  # what people changed: a stale page cannot overwrite it

    objects = ScopedManager()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(sex__in=Sex.values), name="sex_known")]
        indexes = [
            GinIndex(OpClass(Upper("family_name"), name="gin_trgm_ops"), name="family_name_trigram"),
            GinIndex(OpClass(Upper("given_name"), name="gin_trgm_ops"), name="given_name_trigram"),
        ]

    def __str__(self) -> str:
        return f"{self.family_name}, {self.given_name}"


class PatientIdentifier(models.Model):
    """One number a patient is known by, shown verbatim. A retired one is kept, and free for somebody else."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT)
    patient = models.ForeignKey(Patient, on_delete=models.PROTECT, related_name="identifiers")
    system = models.CharField(max_length=120)
    value = models.CharField(max_length=80)
    type = models.CharField(max_length=20, default="MRN")
    added_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")  # null: it came with an order
    added_at = models.DateTimeField(null=True)
    retired_words = models.CharField(max_length=300, blank=True, db_default="")
    retired_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    retired_at = models.DateTimeField(null=True)

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "system", "value"], condition=Q(retired_at=None), name="one_patient_per_identifier"
            )
        ]
        indexes = [GinIndex(OpClass(Upper("value"), name="gin_trgm_ops"), name="identifier_trigram")]


class Intake(models.Model):
    """One upload, checked by a platform job before anything is ordered on it. Only a ready one can be placed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    ordering_organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    performing_laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    test_version = models.ForeignKey(TestVersion, on_delete=models.PROTECT)
    reference_digest = models.CharField(max_length=64)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT)
    filename = models.CharField(max_length=255)
    sample = models.CharField(max_length=255, blank=True)  # chosen column; blank: not chosen or none needed
    state = models.CharField(max_length=10, default="waiting")
    version = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=10, blank=True)  # vcf | fasta | fastq, as recognised
    samples = ArrayField(models.CharField(max_length=255), default=list)
    records = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict)  # outcome → number of record × ALT
    problems = models.JSONField(default=list)  # [{code, line, reason}] of the whole file
    facts = models.JSONField(default=dict)  # build proof, codes seen, size
    progress = models.FloatField(default=0)  # share of bytes read
    item_set = models.OneToOneField(ItemSet, on_delete=models.PROTECT, null=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)  # checks begun since the last checkpoint; three that died are the end
    claimed_at = models.DateTimeField(null=True)  # when a platform worker last moved it on

    objects = ScopedManager()
    scope = _PARTIES

    class Meta:
        indexes = [
            models.Index(fields=["claimed_at"], condition=Q(state__in=["waiting", "checking"]), name="intake_unchecked"),
            models.Index(fields=["item_set"], condition=Q(state="withdrawn", item_set__isnull=False), name="intake_to_clear"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.performing_laboratory_id


class IntakeCheckpoint(models.Model):
    """Where the check of an upload can go on when its worker dies: kept with the rows it had staged, gone when it has ended."""

    intake = models.OneToOneField(Intake, on_delete=models.CASCADE, primary_key=True, related_name="checkpoint")
    organisation_id = models.UUIDField()  # the performing laboratory
    state = models.BinaryField()  # of the checker, packed
    staged = models.JSONField()  # of the stage: items, last line, what the annotation could not say
    at = models.DateTimeField()

    objects = ScopedManager()


class IntakeRecord(models.Model):
    """The verdict on one record × ALT. Staged by COPY."""

    id = models.BigAutoField(primary_key=True)
    intake = models.ForeignKey(Intake, on_delete=models.CASCADE, related_name="rows")
    line = models.PositiveIntegerField()
    alt_index = models.PositiveIntegerField()
    outcome = models.CharField(max_length=12)  # accepted | parked | refused | not_carried | no_call
    code = models.CharField(max_length=60, blank=True)
    reason = models.TextField(blank=True)
    flags = ArrayField(models.CharField(max_length=60), default=list)  # said about an accepted item
    contig = models.CharField(max_length=255, blank=True)  # the reference's name for it
    submitted_contig = models.TextField(blank=True)  # the file's
    position = models.BigIntegerField(default=0)
    ref = models.TextField(blank=True)
    alt = models.TextField(blank=True)
    norm_position = models.BigIntegerField(default=0)
    norm_ref = models.TextField(blank=True)
    norm_alt = models.TextField(blank=True)
    genotype = models.TextField(blank=True)
    zygosity = models.CharField(max_length=20, blank=True)
    phased = models.BooleanField(default=False)
    filter = models.TextField(blank=True)
    name = models.TextField(blank=True)
    length = models.PositiveIntegerField(default=0)  # bases of a sequence
    markov_delta = models.FloatField(null=True)  # of an accepted change, in nats, by the chain of its reference
    consequence = models.TextField(blank=True)  # of an accepted change, by the test's annotation
    item = models.OneToOneField(Item, on_delete=models.CASCADE, null=True)

    class Meta:
        indexes = [models.Index(fields=["intake", "outcome", "line"], name="record_of_intake")]
        constraints = [models.UniqueConstraint(fields=["intake", "line", "alt_index"], name="one_verdict_per_alternate")]


_OF_ITS_PRIORITY = reduce(or_, (Q(priority=str(priority), rank=rank) for priority, rank in PRIORITY_RANK.items()))


class Order(models.Model):
    """What was asked for, by whom, how urgently, and where it stands."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    accession = models.CharField(max_length=20, unique=True)
    ordering_organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="orders_placed")
    performing_laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="orders_performed")
    ordering_site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="+")
    performing_site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="+")  # printed: address, zone
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, null=True, related_name="+")
    provider_name = models.CharField(max_length=200, blank=True, db_default="")  # verbatim, as it was when the order was placed …
    provider_contact = models.CharField(max_length=200, blank=True, db_default="")  # … and whom to call with a critical result
    placer_system = models.CharField(max_length=120, blank=True)
    placer_number = models.CharField(max_length=80, blank=True)
    content_hash = models.CharField(max_length=64)
    patient = models.ForeignKey(Patient, on_delete=models.PROTECT, related_name="orders")
    stated_mrn = models.CharField(max_length=80)  # verbatim; while identity is in question the patient row has no number
    repeats = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="repeated_by")
    stated = models.JSONField(default=dict, db_default={})  # the patient as the requester stated him, verbatim, whatever is decided
    replaces = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="replacements")  # one of them stands
    replaces_reason = models.CharField(max_length=300, blank=True, db_default="")  # in words: what was changed, and why
    specimen = models.ForeignKey(Specimen, on_delete=models.PROTECT)
    test_version = models.ForeignKey(TestVersion, on_delete=models.PROTECT)
    intake = models.OneToOneField(Intake, on_delete=models.PROTECT)
    priority = models.CharField(max_length=10, choices=Priority.choices)
    rank = models.PositiveSmallIntegerField()  # of the priority, for sorting: 0 STAT … 3 routine
    priority_reason = models.CharField(max_length=300, blank=True, default="", db_default="")  # why it was changed, in words
    stat_reason = models.CharField(max_length=300, blank=True)
    indication = models.CharField(max_length=300, blank=True)
    state = models.CharField(max_length=24, default="submitted")
    version = models.PositiveIntegerField(default=1)  # of everything, results included: what pages follow
    edits = models.PositiveIntegerField(default=1)  # what people changed: a stale page cannot overwrite it
    hold_reason = models.CharField(max_length=60, blank=True)
    hold_agreed = models.BooleanField(default=False, db_default=False)  # its requester put it on hold, or two people did
    attention = models.CharField(max_length=60, blank=True)  # reason code; blank: nothing needs a person
    attention_also = ArrayField(models.CharField(max_length=60), default=list, db_default=[], blank=True)  # behind it
    conflicts_with = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")  # same placer number
    cancelled_reason = models.CharField(max_length=500, blank=True)  # a person's words; the event holds a code
    items_total = models.PositiveIntegerField()
    items_done = models.PositiveIntegerField(default=0)  # equals the results committed at this version
    placed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    assignee = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    left_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # whose work it was until he left
    placed_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    scored_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)  # reported, rejected or cancelled
    result_due = models.DateTimeField(null=True)
    report_due = models.DateTimeField(null=True)
    risk = models.CharField(max_length=10, blank=True, db_default="")  # at_risk | late; of results that are not there yet
    risk_since = models.DateTimeField(null=True)
    calendar = models.ForeignKey(Calendar, on_delete=models.PROTECT, null=True, related_name="+")  # null: every minute counts
    clock_zone = models.CharField(max_length=60, blank=True, db_default="")  # of the site that performs, as it was at acceptance
    promise = models.PositiveSmallIntegerField(
        default=1, db_default=1
    )  # counts the due times promised: another priority, another one
    promised_at = models.DateTimeField(null=True)  # since when the present one counts
    clock_stopped_at = models.DateTimeField(null=True)  # on hold: up to when the time that is used has been counted
    escalate_at = models.DateTimeField(null=True)  # when to look next whether somebody must be told

    objects = ScopedManager()
    scope = _PARTIES
    scope_opened = ("patient_id", "performing_laboratory_id")  # by break-glass

    OPEN: ClassVar[tuple[str, ...]] = ("draft", "submitted", "accepted", "in_analysis", "awaiting_review", "awaiting_second_review")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["ordering_organisation", "placer_system", "placer_number"],
                condition=~Q(placer_number="") & Q(conflicts_with=None),
                name="one_order_per_placer_number",
            ),
            models.UniqueConstraint(fields=["replaces"], condition=STANDING, name="order_replaced_once"),
            models.CheckConstraint(condition=Q(priority__in=Priority.values), name="priority_known"),
            models.CheckConstraint(condition=_OF_ITS_PRIORITY, name="rank_of_priority"),
            models.CheckConstraint(
                condition=~Q(priority="stat") | ~Q(stat_reason="") | ~Q(attention=""), name="stat_has_reason_or_flag"
            ),
            models.CheckConstraint(
                condition=~Q(priority="stat") | Q(hold_reason="") | Q(hold_agreed=True), name="stat_hold_agreed"
            ),
            models.CheckConstraint(
                condition=Q(provider=None) | (~Q(provider_name="") & ~Q(provider_contact="")), name="provider_named_on_order"
            ),
            models.CheckConstraint(condition=Q(items_done__lte=models.F("items_total")), name="order_counts_in_order"),
            models.CheckConstraint(
                condition=Q(risk="") | Q(risk__in=["at_risk", "late"], scored_at=None, ended_at=None), name="risk_ends_with_results"
            ),
        ]
        indexes = [
            models.Index(fields=["ordering_organisation", "-placed_at", "-id"], name="order_placed_for"),
            models.Index(fields=["performing_laboratory", "-placed_at", "-id"], name="order_placed_at"),
            *LISTS,
            *BY_PLACING,
            models.Index(fields=["placer_number"], condition=~Q(placer_number=""), name="order_placer_number"),
            models.Index(fields=["performing_laboratory", "ordering_organisation"], name="order_parties"),
            models.Index(fields=["risk"], condition=~Q(risk=""), name="order_at_risk"),
            models.Index(fields=["escalate_at"], condition=Q(ended_at=None, escalate_at__isnull=False), name="order_to_escalate"),
            OF_PERIOD,
            models.Index(fields=["placed_by", "-placed_at"], condition=Q(provider__isnull=False), name="order_last_provider"),
            GinIndex(OpClass(Upper("accession"), name="gin_trgm_ops"), name="accession_trigram"),
            GinIndex(OpClass(Upper("stated_mrn"), name="gin_trgm_ops"), name="stated_mrn_trigram"),
        ]

    def __str__(self) -> str:
        return self.accession

    @property
    def stands(self) -> bool:
        """Whether it is one of `STANDING`."""
        return self.accepted_at is not None or self.state not in _ENDED_EARLY

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.performing_laboratory_id


class HoldRequest(models.Model):
    """One person asks that an order that is or was STAT waits; it does when a second person agrees in time."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="hold_requests")
    reason = models.CharField(max_length=60)  # reason code
    words = models.CharField(max_length=300, blank=True)
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=10, default="open")
    version = models.PositiveIntegerField(default=1)
    answered_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)
    answer = models.CharField(max_length=300, blank=True)  # in words: why it was confirmed or declined

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order"], condition=Q(state="open"), name="one_open_hold_request"),
            models.CheckConstraint(
                condition=~Q(state="confirmed") | (Q(answered_by__isnull=False) & ~Q(answered_by=models.F("asked_by"))),
                name="hold_confirmed_by_another",
            ),
        ]
        indexes = [models.Index(fields=["expires_at"], condition=Q(state="open"), name="hold_request_open")]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id


class Demotion(models.Model):
    """Somebody else than its requester made an order less urgent. It stands until the order has that urgency again."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()  # the performing laboratory
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="demotions")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")  # who placed it, and is told
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    before = models.CharField(max_length=10, choices=Priority.choices)
    after = models.CharField(max_length=10, choices=Priority.choices)
    words = models.CharField(max_length=300)
    at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)  # by the requester
    undone_at = models.DateTimeField(null=True)  # as urgent as before, or its requester has changed the priority himself

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(by=models.F("requester")), name="demoted_by_another"),
            models.CheckConstraint(
                condition=Q(before__in=Priority.values, after__in=Priority.values) & ~Q(before=models.F("after")),
                name="demoted_from_and_to",
            ),
        ]
        indexes = [models.Index(fields=["requester"], condition=Q(read_at=None, undone_at=None), name="demotion_unread")]


class AccessionCounter(models.Model):
    """Last accession number given in a year."""

    year = models.PositiveSmallIntegerField(primary_key=True)
    last = models.PositiveIntegerField(default=0)


from orders.clock_models import DelayNotice as DelayNotice  # noqa: E402 -- they point at Order; one app, two files of nouns
from orders.clock_models import Escalation as Escalation  # noqa: E402
from orders.clock_models import EscalationRule as EscalationRule  # noqa: E402
from orders.clock_models import Hold as Hold  # noqa: E402
from orders.downtimes.rows import Downtime as Downtime  # noqa: E402
from orders.downtimes.rows import DowntimeLine as DowntimeLine  # noqa: E402
from orders.downtimes.rows import LateEntry as LateEntry  # noqa: E402
from orders.downtimes.rows import StatList as StatList  # noqa: E402
