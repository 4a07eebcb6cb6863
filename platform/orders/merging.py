"""Two records of one person become one, and two again when that was a mistake. What was moved is kept row by row.

Reports that were issued, and all stored content, stay as they are: only identifiers, specimens and orders point elsewhere.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from orders import hints
from orders.machines import IN_ERROR, MERGE
from orders.models import IdentityCheck, Merge, Move, Order, Patient, PatientIdentifier, Specimen
from orders.moving import KINDS, move
from orders.remarks import remark

MISSING = "Say why you are sure: it is kept with both records, under your name."
GONE = ("cancelled", "rejected", IN_ERROR)  # orders from which nothing will come


class NotMergeable(Refused):
    """These two records cannot be merged."""


class NotUndoable(Refused):
    """This merge cannot be undone any more."""


@dataclass(frozen=True)
class Belongings:
    """What points at a record, and would move."""

    identifiers: list[PatientIdentifier]
    specimens: list[Specimen]
    orders: list[Order]

    @property
    def rows(self) -> dict[str, list[Any]]:
        """Kind → ids."""
        found: dict[str, list[Any]] = {"identifier": self.identifiers, "specimen": self.specimens, "order": self.orders}
        return {kind: [row.pk for row in rows] for kind, rows in found.items()}


def belongings(patient: Patient) -> Belongings:
    """What a record has today."""
    return Belongings(
        list(PatientIdentifier.objects.filter(patient=patient).order_by("pk")),
        list(Specimen.objects.filter(patient=patient).order_by("collected_at")),
        list(Order.objects.filter(patient=patient).select_related("test_version__definition").order_by("placed_at")),
    )


def merge(*, survivor: Patient, merged: Patient, words: str, actor: Actor, expected: tuple[int, int]) -> Merge:
    """Move everything of `merged` to `survivor`, both being as the person saw them (`expected`: their edits).

    Raises `NotPermitted`, `InvalidOrder`, `NotMergeable` or `Stale`.
    """
    require(actor, Verb.EDIT_IDENTITY, survivor.organisation_id)
    said = remark(words, field="words", missing=MISSING)
    with transaction.atomic():
        orders = _lock_orders(Q(patient=merged))
        into, other = _lock(survivor, merged)
        if (into.edits, other.edits) != expected:
            raise Stale(code="state.stale")
        check(into, other)
        rows = belongings(other).rows
        if set(rows["order"]) != {order.pk for order in orders}:  # one was placed while this waited: it is locked the next time
            raise Stale(code="state.stale")
        done = Merge.objects.create(
            organisation_id=into.organisation_id,
            survivor=into,
            merged=other,
            words=said,
            by_id=cast(UUID, actor.id),
            at=clock.now(),
        )
        move(rows, origin=other, target=into, merge=done)
        _tell(done, "patient.merged", actor, orders)
        return done


def unmerge(*, merge: Merge, words: str, actor: Actor, expected_version: int) -> None:
    """Move back exactly what the merge moved. Raises `NotPermitted`, `InvalidOrder`, `NotUndoable` or `Stale`."""
    require(actor, Verb.EDIT_IDENTITY, merge.organisation_id)
    said = remark(words, field="words", missing="Say why these are two people after all: it is kept with both records.")
    with transaction.atomic():
        rows = moved(merge)
        orders = _lock_orders(Q(pk__in=rows["order"]))
        survivor, merged = _lock(merge.survivor, merge.merged)
        standing = Merge.objects.select_for_update().get(pk=merge.pk)
        if standing.state != "standing":
            raise NotUndoable("Somebody has undone this merge already.", code="merge.undone")
        against = what_stands_against_undoing(standing, rows)
        if against:
            raise NotUndoable(against, code="merge.changed-since")
        changes: dict[str, Any] = {"undone_words": said, "undone_by_id": actor.id, "undone_at": clock.now()}
        audit.transition(MERGE, standing, to="undone", actor=actor, expected_version=expected_version, **changes)
        move(rows, origin=survivor, target=merged, merge=standing, back=True)
        _tell(standing, "patient.unmerged", actor, orders)


def check(survivor: Patient, merged: Patient) -> None:
    """Raise `NotMergeable`, in words, where these two records cannot become one."""
    if survivor.pk == merged.pk:
        raise NotMergeable("That is this record itself.", code="merge.same-record")
    if survivor.organisation_id != merged.organisation_id:
        raise NotMergeable("The two records belong to different organisations.", code="merge.other-organisation")
    if Merge.objects.filter(merged__in=[survivor, merged], state="standing").exists():
        raise NotMergeable("One of the two was merged into another record already.", code="merge.merged-before")
    if against := _open_check(survivor, merged):
        raise NotMergeable(against, code="merge.identity-check")


def moved(merge: Merge) -> dict[str, list[str]]:
    """Kind → ids of what a merge moved."""
    rows: dict[str, list[str]] = defaultdict(list)
    for one in Move.objects.filter(merge=merge, back=False).order_by("pk"):
        rows[one.kind].append(one.row)
    return rows


def what_stands_against_undoing(merge: Merge, rows: dict[str, list[str]]) -> str:
    """Why a merge cannot be undone as things stand; empty where it can."""
    if Merge.objects.filter(merged=merge.survivor, state="standing").exists():
        return "The surviving record was itself merged into another one since. Undo that merge first."
    for kind, model in KINDS.items():
        if model.objects.filter(pk__in=rows[kind]).exclude(patient=merge.survivor).exists():
            return f"Since the merge, one {kind} of these has moved on to another record."
    numbers = PatientIdentifier.objects.filter(pk__in=rows["identifier"]).values("value")
    placed = Order.objects.filter(patient=merge.survivor, placed_at__gt=merge.at).exclude(pk__in=rows["order"])
    under_them = placed.filter(Q(stated_mrn__in=numbers) | Q(replaces__in=rows["order"])).exclude(state__in=GONE).first()
    if under_them is not None:
        return (
            f"Order {under_them.accession} was placed since, under a number or in the place of an order that would go back, and it"
            " cannot be told whose it is. Cancel it, or mark it as an order for the wrong patient, first."
        )
    return _open_check(merge.survivor, merge.merged)


def _open_check(*patients: Patient) -> str:
    """What is said while a person still has to decide who somebody is."""
    about = Q(known__in=patients) | Q(order__patient__in=patients)
    waiting = IdentityCheck.objects.filter(about, state="open").select_related("order").first()
    return f"The identity check of order {waiting.order.accession} is open. Settle it first." if waiting else ""


def _lock_orders(which: Q) -> list[Order]:
    return list(Order.objects.select_for_update().filter(which).order_by("pk"))


def _lock(first: Patient, second: Patient) -> tuple[Patient, Patient]:
    """Both records, locked in the one order that all merges take, after their orders."""
    rows = Patient.objects.select_for_update().filter(pk__in=[first.pk, second.pk]).order_by("pk")
    found = {row.pk: row for row in rows}
    return found[first.pk], found[second.pk]


def _tell(merge: Merge, action: str, actor: Actor, orders: list[Order]) -> None:
    """Count the edit of both records, and write the events of records and orders."""
    facts = {"merge": merge.pk, "survivor": str(merge.survivor_id), "merged": str(merge.merged_id)}
    for patient in (merge.survivor, merge.merged):
        Patient.objects.filter(pk=patient.pk).update(edits=patient.edits + 1)
        audit.record(actor=actor, action=action, obj=patient, organisation_id=merge.organisation_id, facts=facts)
    for order in orders:
        organisation_id = order.performing_laboratory_id
        audit.record(actor=actor, action="order.patient_moved", obj=order, organisation_id=organisation_id, facts=facts)
        order.refresh_from_db(fields=["version"])
        hints.changed(order)
