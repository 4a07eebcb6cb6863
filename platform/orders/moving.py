"""Let rows change their patient, each beside the row that says by which decision: the database accepts no other way."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import F

from foundation import clock
from orders.models import IdentityCheck, Merge, Move, Order, Patient, PatientIdentifier, Specimen

KINDS: dict[str, Any] = {"order": Order, "specimen": Specimen, "identifier": PatientIdentifier}


def move(
    rows: Mapping[str, Iterable[Any]],
    *,
    origin: Patient,
    target: Patient,
    merge: Merge | None = None,
    check: IdentityCheck | None = None,
    back: bool = False,
) -> None:
    """Move these rows (kind → ids) from one patient to another, for a merge or a decided check. The orders are locked."""
    now, moves = clock.now(), []
    for kind, ids in rows.items():
        moves += [
            Move(
                organisation_id=target.organisation_id, merge=merge, check_of=check, back=back, kind=kind, row=str(pk),
                origin=origin, target=target, at=now,
            )
            for pk in ids
        ]  # fmt: skip
    Move.objects.bulk_create(moves)
    for kind, model in KINDS.items():
        ids = [one.row for one in moves if one.kind == kind]
        seen = {"version": F("version") + 1, "edits": F("edits") + 1} if kind == "order" else {}
        if ids:
            model.objects.filter(pk__in=ids).update(patient=target, **seen)
