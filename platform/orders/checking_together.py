"""Check several small files at once: what `orders.checking` says of each alone, kept in one transaction for all of them.

What is out of the ordinary about a file (it is long, it cannot be read, the annotation's tool refuses something) is left to
`orders.checking`, which knows what to say of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from audit import services as audit
from engine_queue.models import ItemSet
from foundation import clock
from foundation.actor import Actor
from orders import baselines, staging, uploads
from orders import intake as checker
from orders.baselines import Baseline, Baselines
from orders.checking import ACTOR, BATCH, LIMITS, columns, limits_of
from orders.intake import FastaReference, Kind, Outcome, SequenceReader, Verdict
from orders.machines import INTAKE
from orders.models import Intake
from orders.references import view
from registry.annotations.consequences import Patience
from registry.errors import FileChanged
from registry.models import TestVersion
from storage.models import StoredFile
from storage.services import path_of


class Small(NamedTuple):
    """A stored file, and the test that it is to be checked for."""

    test: TestVersion
    file: StoredFile
    filename: str
    sample: str


@dataclass(frozen=True)
class Examined:
    """What was found in a file of at most `BATCH` verdicts or a few more; nothing of it is kept yet."""

    small: Small
    verdict: checker.FileVerdict
    verdicts: Sequence[Verdict]
    beside: Sequence[Baseline] = ()  # of each accepted verdict
    facts: dict[str, Any] | None = None  # of the baselines

    @property
    def accepted(self) -> list[Verdict]:
        """The verdicts that have a baseline beside them."""
        return [v for v in self.verdicts if v.outcome is Outcome.ACCEPTED]

    @property
    def items(self) -> int:
        """How many items are scored; 0 where the file is refused."""
        return 0 if self.verdict.state is checker.State.REFUSED else self.verdict.accepted


def examine(files: Sequence[Small]) -> list[Examined | None]:
    """The verdict on each file, in their order; None: that one is to be checked alone. Reads the database and writes nothing."""
    found: dict[Small, Examined] = {}
    for test in {small.test.pk: small.test for small in files}.values():
        try:
            reference = view(test.reference)
            beside = Baselines(test, reference, Patience(runs=0))
        except (FileChanged, checker.IntakeError, OSError):
            continue
        seen = [_read(small, reference) for small in dict.fromkeys(files) if small.test.pk == test.pk]
        found |= {one.small: one for one in _with_baselines([one for one in seen if one], beside)}
    return [found.get(small) for small in files]


def keep(*, actor: Actor, organisation_id: UUID, examined: Sequence[Examined]) -> list[Intake]:
    """Uploads that were received and checked, with items, records and events; inside the caller's transaction."""
    now = clock.now()
    sets = [_item_set(one) if one.items else None for one in examined]
    ItemSet.objects.bulk_create([item_set for item_set in sets if item_set])
    intakes = [_unchecked(actor, organisation_id, one.small, item_set) for one, item_set in zip(examined, sets, strict=True)]
    uploads.received_all(actor=actor, intakes=intakes)
    begun = {"claimed_at": now, "tries": 1}
    audit.transition_all(INTAKE, [(intake, begun) for intake in intakes], to="checking", actor=ACTOR)
    staging.copy_all([_portion(one, intake) for one, intake in zip(examined, intakes, strict=True)])
    ItemSet.objects.filter(pk__in=[item_set.pk for item_set in sets if item_set]).update(frozen_at=now)
    for state, usable in (("ready", True), ("refused", False)):
        ended = [
            (intake, columns(intake, one.verdict, one.facts or {}))
            for one, intake in zip(examined, intakes, strict=True)
            if bool(one.items) is usable
        ]
        audit.transition_all(INTAKE, ended, to=state, actor=ACTOR)
    return intakes


def _unchecked(actor: Actor, organisation_id: UUID, small: Small, item_set: ItemSet | None) -> Intake:
    intake = uploads.unchecked(actor, small.test, organisation_id, small.file, small.filename, small.sample)
    intake.item_set = item_set
    return intake


def _read(small: Small, reference: FastaReference) -> Examined | None:
    check = checker.check(
        path_of(small.file.sha256),
        filename=small.filename,
        reference=reference,
        sample=small.sample or None,
        accept=frozenset(Kind(kind) for kind in small.test.accepts),
        limits=limits_of(small.test),
    )
    try:
        batches = check.batches(BATCH)
        verdicts = next(batches, [])
        return None if next(batches, None) else Examined(small, check.summary, verdicts)
    except (checker.IntakeError, OSError):
        return None


def _with_baselines(seen: Sequence[Examined], beside: Baselines) -> list[Examined]:
    """The same with baselines for all changes, which one run of the annotation's tool works out; nothing where it refuses."""
    changes = [one for one in seen if one.verdict.kind is Kind.VCF]
    each = beside.of_each([one.accepted for one in changes])
    done = [
        replace(one, beside=mine, facts=beside.facts_of(mine)) for one, mine in zip(changes, each or [], strict=each is not None)
    ]
    others = [one for one in seen if one.verdict.kind is not Kind.VCF]
    return [*done, *(replace(one, beside=[baselines.NONE] * len(one.accepted)) for one in others)]


def _item_set(one: Examined) -> ItemSet:
    variants = one.verdict.kind is Kind.VCF
    return ItemSet(
        organisation_id=one.small.test.definition.laboratory_id,
        kind="variant" if variants else "sequence",
        reference=one.small.test.reference if variants else None,
        count=one.items,
    )


def _portion(one: Examined, intake: Intake) -> staging.Portion:
    bases = SequenceReader(path_of(one.small.file.sha256), limits=LIMITS)
    return staging.Portion(intake, intake.item_set, bases, one.verdicts, one.beside)
