"""Runs beside the orders: of nobody's order, below all of them in the queue, with the very pins that others are scored with."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from engine_queue import cutting, tickets
from engine_queue.models import Item, ItemSet, Run, RunKind
from foundation import clock
from registry.models import Reference
from registry.priority import BELOW_ROUTINE

PINS = (
    "organisation_id", "test_version_id", "model_version_id", "deployment_id", "precision", "protocol", "reference_digest",
)  # fmt: skip
DUE = timedelta(days=1)


def place(*, kind: RunKind, of: str, reference: Reference | None, items: Sequence[Item], pins: Mapping[str, Any]) -> Run:
    """Make the run of `items`, which are not saved yet, and send its tickets on commit. `of` is the kind of its item set."""
    now = clock.now()
    made = ItemSet.objects.create(organisation_id=pins["organisation_id"], kind=of, reference=reference, count=len(items))
    for place, item in enumerate(items):
        item.item_set, item.ordinal = made, place
    Item.objects.bulk_create(items)
    made.frozen_at = now
    made.save(update_fields=["frozen_at"])
    run = Run.objects.create(
        **{name: pins[name] for name in PINS}, kind=kind, item_set=made, seed=secrets.randbits(63), rank=BELOW_ROUTINE,
        due_at=now + DUE, items_total=len(items), created_at=now,
    )  # fmt: skip
    tickets.send_on_commit(cutting.cut(run, cutting.AHEAD))
    return run
