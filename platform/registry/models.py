"""The nouns a run is pinned to. Rows are added, not changed: a new version is a new row."""

import uuid
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import Organisation, User
from foundation.scoping import ScopedManager
from registry.priority import Priority


class ModelVersion(models.Model):
    """One set of weights with its tokenizer."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80)
    version = models.CharField(max_length=40)
    folder = models.CharField(max_length=120)  # below MODELS_DIR
    weights_sha256 = models.CharField(max_length=64)
    tokenizer_sha256 = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, blank=True)  # of every file that may change a result; blank: an old row, filled once
    files = models.JSONField(default=list)  # [{name, size, sha256}]
    card = models.TextField(blank=True)  # the model card as it was
    card_sha256 = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_model_version"),
            models.UniqueConstraint(fields=["digest"], condition=~models.Q(digest=""), name="one_version_per_bytes"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Inspection(models.Model):
    """What a machine found when it loaded a model version: its golden bits, and a smoke score. Insert-only."""

    id = models.BigAutoField(primary_key=True)
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="inspections")
    fingerprint = models.CharField(max_length=64)  # of the settings under which it was loaded
    golden = models.CharField(max_length=64)  # digest of the self-test's bits
    found = models.JSONField()  # as `python -m engine inspect` said it
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model_version", "fingerprint", "golden"], name="one_inspection_per_bits")]


class Deployment(models.Model):
    """A model version with everything that decides its bits: backend, kernels, precision, ISA, threads."""

    name = models.SlugField(primary_key=True, max_length=80)
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="deployments")
    precision = models.CharField(max_length=20)
    pin = models.JSONField()  # what `engine.load` is asked for
    fingerprint = models.CharField(max_length=64, blank=True)  # as the first worker that loaded it reported
    golden = models.CharField(max_length=64, blank=True)  # digest of the self-test's bits, pinned with it
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class CalibrationTable(models.Model):
    """Δ → probability, for one model version, protocol and precision. Optional; without one nothing but scores is shown."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="calibrations")
    protocol = models.JSONField()
    protocol_sha256 = models.CharField(max_length=64)
    precision = models.CharField(max_length=20)
    rows = models.JSONField()  # [[Δ in nats, probability]], ascending
    sha256 = models.CharField(max_length=64)  # of the rows
    source = models.TextField()  # the variants and labels it was made from
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model_version", "protocol_sha256", "precision"], name="one_calibration_per_pin")
        ]

    def __str__(self) -> str:
        return f"calibration of {self.model_version}, {self.precision}"


class Reference(models.Model):
    """Reference sequences by digest."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    description = models.CharField(max_length=300, blank=True)
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 over the contigs' names, lengths and sequence digests
    path = models.CharField(max_length=200)  # FASTA: below the project's folder, or “data:” and a path below DATA_DIR
    annotation_path = models.CharField(max_length=200, blank=True)  # genes of the picture
    contigs = models.JSONField()  # [{name, length, aliases, and where registered from a file: sha256, ga4gh, md5}]

    def __str__(self) -> str:
        return self.name


class MarkovTable(models.Model):
    """Counts of a Markov chain over the whole of a reference: the baseline beside every score. Insert-only."""

    reference = models.OneToOneField(Reference, on_delete=models.PROTECT, primary_key=True, related_name="markov")
    order = models.PositiveSmallIntegerField()
    counts = models.BinaryField()  # 4 ** (order + 1) little-endian 64-bit numbers, the last base the lowest digit
    sha256 = models.CharField(max_length=64)  # of the counts

    def __str__(self) -> str:
        return f"Markov chain of order {self.order}"


class Annotation(models.Model):
    """Transcripts of a reference, in the one form that consequences are worked out from."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    reference = models.ForeignKey(Reference, on_delete=models.PROTECT, related_name="annotations")
    digest = models.CharField(max_length=64)  # SHA-256 of the file that was registered, uncompressed
    path = models.CharField(max_length=200)  # of our form of it, as for a reference
    form_sha256 = models.CharField(max_length=64, blank=True)  # of the text of that form; blank: an old row, filled once
    codes = models.JSONField()  # contig → NCBI translation table
    facts = models.JSONField()  # genes, transcripts, coding ones, what was skipped and why, the file's name
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Frequencies(models.Model):
    """Common variants of a region of a reference, by the digest of the file that tells how common. Insert-only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    reference = models.ForeignKey(Reference, on_delete=models.PROTECT, related_name="frequencies")
    digest = models.CharField(max_length=64)  # SHA-256 of the file that was registered, uncompressed
    contig = models.CharField(max_length=255)
    start = models.PositiveBigIntegerField()  # 1-based; both ends are inside
    end = models.PositiveBigIntegerField()
    minimum = models.FloatField()  # frequency of those that were kept, at least
    rows = models.JSONField()  # [[contig, position, ref, alt, frequency]]
    sha256 = models.CharField(max_length=64)  # of the rows
    source = models.TextField()  # where the figures come from
    facts = models.JSONField()  # the file's name, how many were kept, and how many were not and why
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def region(self) -> str:
        """As people write it."""
        return f"{self.contig}:{self.start:,}–{self.end:,}"


class FileProof(models.Model):
    """That a file, in one state of it, holds what has a digest (`proofs`). Insert-only."""

    id = models.BigAutoField(primary_key=True)
    path = models.TextField()
    seen = models.CharField(max_length=64)  # of inode, size and times of the file and of its indexes
    digest = models.CharField(max_length=64)  # as the reference or the annotation is known by
    proven_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["path", "seen", "digest"], name="one_proof_per_state")]


class TestDefinition(models.Model):
    """A test a laboratory offers."""

    __test__ = False  # not a test case, whatever its name says to pytest
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="tests")
    code = models.SlugField(max_length=40)
    name = models.CharField(max_length=120)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["laboratory", "code"], name="one_test_code")]

    def __str__(self) -> str:
        return self.name


class IntendedUse(models.TextChoices):
    """What the laboratory may use a test version for."""

    DEMONSTRATION = "demonstration", "Demonstration – not for clinical use"
    RESEARCH = "research", "Research use only"
    CLINICAL = "clinical", "Clinical"


def one_each() -> dict[str, int]:
    """One signature, whatever the priority."""
    return dict.fromkeys(Priority.values, 1)


class TestVersion(models.Model):
    """What a test does: inputs, reference, protocol, deployment, clocks."""

    __test__ = False
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    definition = models.ForeignKey(TestDefinition, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    accepts = ArrayField(models.CharField(max_length=10))  # vcf, fasta, fastq
    reference = models.ForeignKey(Reference, on_delete=models.PROTECT)
    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, null=True)  # null: no consequence is named
    deployment = models.ForeignKey(Deployment, on_delete=models.PROTECT)
    calibration = models.ForeignKey(
        CalibrationTable, on_delete=models.PROTECT, null=True, related_name="tests"
    )  # null: no probability
    protocol = models.JSONField()  # {"kind": "centred", "window": 512, "strand": "forward"}
    sla_minutes = models.JSONField()  # priority → [minutes to scored, minutes to released]
    signatures = models.JSONField(default=one_each, db_default=one_each())  # priority → how many people sign: 1 or 2
    intended_use = models.CharField(max_length=20, choices=IntendedUse.choices, default=IntendedUse.DEMONSTRATION)
    limitations = models.TextField(blank=True)
    offered = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["definition", "number"], name="one_test_version"),
            models.CheckConstraint(condition=models.Q(intended_use__in=IntendedUse.values), name="intended_use_known"),
        ]

    def __str__(self) -> str:
        return f"{self.definition.name} v{self.number}"


class ValidationRecord(models.Model):
    """That a laboratory has shown a test version fit for clinical use, with exactly these components. One stands at a time."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    test_version = models.ForeignKey(TestVersion, on_delete=models.PROTECT, related_name="validations")
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="+")
    deployment = models.ForeignKey(Deployment, on_delete=models.PROTECT, related_name="+")
    precision = models.CharField(max_length=20)
    reference_digest = models.CharField(max_length=64)
    environment = models.CharField(max_length=64)  # fingerprint of the deployment: backend, kernels, ISA, threads
    statement = models.TextField()  # the intended use, and what it was shown with
    state = models.CharField(max_length=12, default="proposed")
    version = models.PositiveIntegerField(default=1)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    suspended_at = models.DateTimeField(null=True)
    suspended_by = models.CharField(max_length=200, blank=True)  # printed name of the person or the process
    words = models.CharField(max_length=500, blank=True)  # why it was declined or suspended

    objects = ScopedManager()
    scope = ("laboratory_id",)
    scope_verb = "propose_validation"

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["test_version", "state"],
                condition=models.Q(state__in=["proposed", "approved"]),
                name="one_validation_stands",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="approved")
                | (models.Q(decided_by__isnull=False) & ~models.Q(decided_by=models.F("proposed_by"))),
                name="validation_approved_by_another",
            ),
        ]

    def __str__(self) -> str:
        return f"validation of {self.test_version}"

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.laboratory_id


class Calendar(models.Model):
    """Working hours of a laboratory, as somebody decided them. A change is the next version; no version is ever altered."""

    laboratory = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="calendars")
    code = models.CharField(max_length=40)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    weekly = models.JSONField()  # Monday first; of each day its spans, in minutes by the clock on the wall
    holidays = models.JSONField(default=list)  # [["2026-12-25", "Christmas Day"], …]
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=200)  # printed name

    class Meta:
        constraints = [models.UniqueConstraint(fields=["laboratory", "code", "number"], name="one_calendar_version")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.number}"


class ClockChoice(models.Model):
    """By which calendar a priority of a test counts; a blank code: every minute does. The last choice counts."""

    definition = models.ForeignKey(TestDefinition, on_delete=models.PROTECT, related_name="clock_choices")
    priority = models.CharField(max_length=10, choices=Priority.choices)
    calendar_code = models.CharField(max_length=40, blank=True)
    chosen_at = models.DateTimeField()
    chosen_by = models.CharField(max_length=200)  # printed name

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(priority__in=Priority.values), name="clock_priority_known")]
        indexes = [models.Index(fields=["definition", "priority", "-id"], name="clock_choice_last")]
