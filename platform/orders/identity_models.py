"""Who is who: what was decided about patients, by whom and why, and every row that changed its patient by it.

Rows of changes and moves are only ever inserted, and the database lets neither a name nor a patient change without one of them.
"""

from uuid import UUID

from django.db import models
from django.db.models import F, Q

from accounts.models import User
from foundation.scoping import ScopedManager


class IdentityCheck(models.Model):
    """A known number was stated with other details than the record's: a person decides who the patient of the order is."""

    id = models.BigAutoField(primary_key=True)
    ordering_organisation_id = models.UUIDField()
    performing_laboratory_id = models.UUIDField()
    order = models.ForeignKey("orders.Order", on_delete=models.PROTECT, related_name="identity_checks")
    known = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="+")  # the record that has the number
    state = models.CharField(max_length=12, default="open")
    version = models.PositiveIntegerField(default=1)
    opened_at = models.DateTimeField()
    decision = models.CharField(max_length=60, blank=True)  # reason code
    words = models.CharField(max_length=300, blank=True)
    decided_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True)

    objects = ScopedManager()
    scope = ("ordering_organisation_id", "performing_laboratory_id")
    scope_verb = "edit_identity"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order"], condition=Q(state="open"), name="one_open_identity_check"),
            models.CheckConstraint(
                condition=~Q(state__in=["settled", "rejected", "asked_again"]) | Q(decided_by__isnull=False) & ~Q(words=""),
                name="identity_decided_by_a_person",
            ),
        ]
        indexes = [models.Index(fields=["ordering_organisation_id"], condition=Q(state="open"), name="identity_check_open")]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.performing_laboratory_id


class PatientChange(models.Model):
    """A record was corrected: what it said before and after, by whom and why."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    patient = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="changes")
    before = models.JSONField()
    after = models.JSONField()
    check_of = models.ForeignKey(IdentityCheck, null=True, on_delete=models.PROTECT, related_name="corrections")
    words = models.CharField(max_length=300)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    transaction = models.BigIntegerField(default=0)  # written by the database: the transaction that may make this change

    objects = ScopedManager()

    @property
    def pairs(self) -> list[tuple[str, str, str]]:
        """Field in words, before, after, of what was changed."""
        changed = [name for name in self.before if self.before[name] != self.after[name]]
        return [(name.replace("_", " ").capitalize(), self.before[name], self.after[name]) for name in changed]


class Merge(models.Model):
    """Two records of one person: everything of `merged` went to `survivor`. It stands until it is undone."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    survivor = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="merges")
    merged = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="merged_by")
    state = models.CharField(max_length=10, default="standing")
    version = models.PositiveIntegerField(default=1)
    words = models.CharField(max_length=300)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    undone_words = models.CharField(max_length=300, blank=True)
    undone_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    undone_at = models.DateTimeField(null=True)

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merged"], condition=Q(state="standing"), name="one_survivor_of_a_record"),
            models.CheckConstraint(condition=~Q(merged=F("survivor")), name="merged_into_another_record"),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id


class Move(models.Model):
    """One row that changed its patient, by a merge, its undoing, or an identity decision."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    merge = models.ForeignKey(Merge, null=True, on_delete=models.PROTECT, related_name="moves")
    check_of = models.ForeignKey(IdentityCheck, null=True, on_delete=models.PROTECT, related_name="moves")
    back = models.BooleanField(default=False)  # the merge was undone
    kind = models.CharField(max_length=10)  # order | specimen | identifier
    row = models.CharField(max_length=36)  # its id
    origin = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="+")
    target = models.ForeignKey("orders.Patient", on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    transaction = models.BigIntegerField(default=0)  # written by the database: the transaction that may move the row

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=["order", "specimen", "identifier"]), name="moved_kind_known"),
            models.CheckConstraint(condition=Q(merge=None) ^ Q(check_of=None), name="moved_by_one_decision"),
        ]
        indexes = [models.Index(fields=["row", "kind"], name="move_of_row")]
