"""Common variants of a region, scored as the orders are: what the Δ of a variant is seen beside, as a rank and nothing else.

A background is a run of its own, below every order in the queue. It holds for runs of the same laboratory, model version, protocol,
precision and reference whose results carry the same fingerprint: the smallest thing that could move a score keeps it away.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection, transaction

from accounts.roles import Verb
from audit import services as audit
from engine_queue import beside
from engine_queue.models import Item, Run, RunKind
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import Refused
from foundation.reasons import Reason
from registry import registering
from registry.models import Frequencies, TestVersion
from reports.models import Background

if TYPE_CHECKING:
    from engine_queue.outcomes import Fact


_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 8))"


class OtherReference(Refused):
    """These frequencies are of another reference than the test's."""


@dataclass(frozen=True)
class Beside:
    """A background as it is read: Δ ascending."""

    row: Background
    deltas: tuple[float, ...]

    def lower(self, contig: str, position: int, delta: float | None, flags: list[str]) -> int | None:
        """How many have a lower Δ than this one; None where it lies outside of the region, or on another scale."""
        of = self.row.frequencies
        if delta is None or contig != of.contig or not of.start <= position <= of.end or Reason.ITEM_SCORED_BREAKPOINTS in flags:
            return None
        return bisect_left(self.deltas, delta)


def ask(*, test: TestVersion, frequencies: Frequencies, actor: Actor) -> tuple[Background, bool]:
    """Have the common variants of a region scored as a test version scores; the background, and whether it was asked for now.

    What the deployment computes today is asked for once. Raises `NotPermitted`, and `OtherReference`.
    """
    laboratory = test.definition.laboratory
    registering.require(actor, Verb.REGISTER, laboratory)
    if frequencies.reference_id != test.reference_id:
        raise OtherReference(code="registry.other-reference")
    deployment = test.deployment
    pins = {
        "organisation_id": laboratory.pk, "test_version_id": test.pk, "model_version_id": deployment.model_version_id,
        "deployment_id": deployment.pk, "precision": deployment.precision, "protocol": test.protocol,
        "reference_digest": test.reference.digest,
    }  # fmt: skip
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_ONE_AT_A_TIME, [f"{laboratory.pk} {frequencies.pk}"])
        for known in _alike(pins).filter(frequencies=frequencies, run__deployment=deployment).exclude(run__state="cancelled"):
            if known.fingerprint in ("", deployment.fingerprint):
                return known, False
        items = [Item(contig=c, position=p, ref=r, alt=a) for c, p, r, a, _ in frequencies.rows]
        run = beside.place(kind=RunKind.BACKGROUND, of="variant", reference=test.reference, items=items, pins=pins)
        made = Background.objects.create(
            organisation_id=laboratory.pk, frequencies=frequencies, run=run, asked_by=actor.name, asked_at=clock.now()
        )
        facts = {"run": str(run.pk), "frequencies": frequencies.digest, "variants": len(items)}
        audit.record(actor=actor, action="background.asked", obj=made, organisation_id=laboratory.pk, facts=facts)
    return made, True


def hear(fact: "Fact") -> None:
    """Keep the scores with their hash when the run of a background has all of them, in the transaction of the last one."""
    if fact.kind != "scored" or fact.run.kind != RunKind.BACKGROUND:
        return
    made = Background.objects.select_for_update().filter(run_id=fact.run.pk, sha256="").first()
    if made is None:
        return
    results = fact.run.results.order_by("item__ordinal")
    rows = list(results.exclude(delta=None).values_list("item__contig", "item__position", "item__ref", "item__alt", "delta"))
    fingerprints = sorted(set(results.values_list("fingerprint", flat=True)))
    made.sha256 = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    made.deltas, made.failed, made.made_at = sorted(row[4] for row in rows), fact.run.items_total - len(rows), clock.now()
    made.fingerprint = fingerprints[0] if len(fingerprints) == 1 else "several"  # which is nobody's
    made.save(update_fields=["sha256", "deltas", "failed", "made_at", "fingerprint"])
    facts = {"sha256": made.sha256, "scored": len(rows), "failed": made.failed, "fingerprint": made.fingerprint}
    audit.record(
        actor=process(fact.worker), action="background.scored", obj=made, organisation_id=made.organisation_id, facts=facts
    )  # fmt: skip


def of(run: Run) -> Beside | None:
    """The background of a run's region: of several the one that holds most of its variants, then the newest."""
    if run.item_set.kind != "variant":
        return None
    pins = {name: getattr(run, name) for name in beside.PINS}
    found: list[tuple[int, Any, UUID]] = []
    for row in (
        _alike(pins).exclude(sha256="").exclude(deltas=[]).select_related("frequencies").defer("frequencies__rows", "deltas")
    ):
        of = row.frequencies
        inside = run.results.filter(item__contig=of.contig, item__position__range=(of.start, of.end)).count()
        if inside and not run.results.exclude(fingerprint=row.fingerprint).exists():
            found.append((inside, row.made_at, row.pk))
    return _read(max(found)[2]) if found else None


def _alike(pins: Mapping[str, Any]) -> Any:
    """Backgrounds that were scored as these pins say."""
    same = ("model_version_id", "precision", "protocol", "reference_digest")
    return Background.objects.filter(
        organisation_id=pins["organisation_id"], **{f"run__{name}": pins[name] for name in same}
    ).order_by("asked_at")


@lru_cache(maxsize=16)
def _read(pk: UUID) -> Beside:
    """Once a process: a row that has its hash never changes."""
    row = Background.objects.select_related("frequencies").defer("frequencies__rows").get(pk=pk)
    return Beside(row, tuple(row.deltas))
