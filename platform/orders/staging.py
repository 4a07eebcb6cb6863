"""Stage verdicts and items by COPY, batch by batch, so that a large file needs no large memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from engine_queue.models import ItemSet
from foundation import clock
from foundation.errors import HelicaseError
from foundation.reasons import Reason
from orders import baselines
from orders.baselines import Baseline, Baselines
from orders.intake import Kind, Limits, Outcome, Place, Resumable, SequenceReader, Verdict, packed
from orders.models import Intake, IntakeCheckpoint

_ITEM = ("id", "item_set_id", "ordinal", "contig", "position", "ref", "alt", "end_position", "name", "sequence")
_RECORD = (
    "intake_id",
    "line",
    "alt_index",
    "outcome",
    "code",
    "reason",
    "flags",
    "contig",
    "submitted_contig",
    "position",
    "ref",
    "alt",
    "norm_position",
    "norm_ref",
    "norm_alt",
    "genotype",
    "zygosity",
    "phased",
    "filter",
    "name",
    "length",
    "markov_delta",
    "consequence",
    "item_id",
)


BATCH = 20_000  # rows taken away at a time


class Superseded(HelicaseError):
    """Another worker has taken this check up: this one has been too slow and writes nothing more."""


@dataclass
class Portion:
    """Verdicts of one upload that are written together."""

    intake: Intake
    item_set: ItemSet | None  # None: nothing of the file can be scored
    bases: SequenceReader
    verdicts: Sequence[Verdict]
    beside: Sequence[Baseline]  # of each accepted one
    items: int = 0  # of the same upload that were written before

    @property
    def accepted(self) -> list[Verdict]:
        """Those that become items."""
        return [v for v in self.verdicts if v.outcome is Outcome.ACCEPTED] if self.item_set else []

    def item_rows(self, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """A row of `_ITEM` for each accepted verdict."""
        if self.item_set is None:
            return
        for n, (v, pk) in enumerate(zip(self.accepted, ids, strict=True)):
            sequence = "" if self.item_set.kind == "variant" else self.bases.read(v.sequence_offset, v.sequence_length)
            yield (pk, self.item_set.pk, self.items + n, v.contig, v.position, v.ref, v.alt, v.end, v.name, sequence)

    def record_rows(self, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """A row of `_RECORD` for each verdict."""
        left, beside = iter(ids), iter(self.beside)
        for v in self.verdicts:
            accepted = v.outcome is Outcome.ACCEPTED
            yield self._record(v, next(beside) if accepted else baselines.NONE, next(left, None) if accepted else None)

    def _record(self, v: Verdict, beside: Baseline, item_id: int | None) -> tuple[Any, ...]:
        return (
            self.intake.pk,
            v.line,
            v.alt_index,
            str(v.outcome),
            str(v.code or ""),
            v.reason,
            [str(f) for f in v.flags],
            v.contig,
            v.submitted_contig,
            v.position,
            v.ref,
            v.alt,
            v.norm_position,
            v.norm_ref,
            v.norm_alt,
            v.genotype,
            str(v.zygosity),
            v.phased,
            v.filter,
            v.name,
            v.sequence_length,
            beside.markov_delta,
            beside.consequence,
            item_id,
        )


def copy_all(portions: Sequence[Portion]) -> None:
    """COPY an item for each accepted verdict and a record for each verdict, inside the caller's transaction."""
    left = iter(_item_ids(sum(len(portion.accepted) for portion in portions)))
    ids = [list(islice(left, len(portion.accepted))) for portion in portions]
    _copy("engine_queue_item", _ITEM, chain.from_iterable(map(Portion.item_rows, portions, ids)))
    _copy("orders_intakerecord", _RECORD, chain.from_iterable(map(Portion.record_rows, portions, ids)))


@dataclass
class Stage:
    """Where the rows of one check go."""

    intake: Intake
    item_set: ItemSet
    bases: SequenceReader
    baselines: Baselines
    items: int = 0
    line: int = 0  # the last one staged

    def write(self, verdicts: Sequence[Verdict], checkpoint: Resumable | None = None) -> None:
        """COPY one batch: an item for each accepted verdict, a record for each verdict; with the state to go on from, if given."""
        accepted = [v for v in verdicts if v.outcome is Outcome.ACCEPTED]
        beside = self.baselines.of(accepted) if self.item_set.kind == "variant" else [baselines.NONE] * len(accepted)
        with transaction.atomic():
            _still_ours(self.intake)
            copy_all([Portion(self.intake, self.item_set, self.bases, verdicts, beside, self.items)])
            self.items, self.line = self.items + len(accepted), verdicts[-1].line if verdicts else self.line
            if checkpoint is not None:
                self._keep(checkpoint)

    def _keep(self, checkpoint: Resumable) -> None:
        """The attempt that comes this far has not died: the file is given its three tries again from here."""
        staged = {"items": self.items, "line": self.line, "baselines": self.baselines.state}
        values = {"organisation_id": self.intake.performing_laboratory_id, "state": packed(checkpoint), "staged": staged}
        IntakeCheckpoint.objects.update_or_create(intake=self.intake, defaults={**values, "at": clock.now()})
        Intake.objects.filter(pk=self.intake.pk).update(tries=1)


def begin(intake: Intake, path: Path, *, kind: Kind, limits: Limits, beside: Baselines) -> Stage:
    """A fresh stage for one check; what an interrupted one left is taken away. Raises `Superseded`, as every write does."""
    clear(intake)
    with transaction.atomic():
        _still_ours(intake)
        item_set = ItemSet.objects.create(
            organisation_id=intake.performing_laboratory_id,
            kind="variant" if kind is Kind.VCF else "sequence",
            reference=intake.test_version.reference if kind is Kind.VCF else None,
        )
        intake.item_set = item_set
        intake.save(update_fields=["item_set"])
    return Stage(intake, item_set, SequenceReader(path, limits=limits), beside)


def resume(
    intake: Intake, path: Path, checkpoint: IntakeCheckpoint, state: Resumable, *, limits: Limits, beside: Baselines
) -> Stage:
    """The stage of a check that was interrupted, as its checkpoint knew it: what was written after that is taken away."""
    item_set, staged = intake.item_set, checkpoint.staged
    if item_set is None:
        raise Superseded(code=str(Reason.INTAKE_WORKER_LOST))
    records = "SELECT id FROM orders_intakerecord WHERE intake_id = %s AND line > %s LIMIT %s"
    _batchwise(intake, f"DELETE FROM orders_intakerecord WHERE id IN ({records})", intake.pk, staged["line"])  # noqa: S608
    items = "SELECT id FROM engine_queue_item WHERE item_set_id = %s AND ordinal >= %s LIMIT %s"
    _batchwise(intake, f"DELETE FROM engine_queue_item WHERE id IN ({items})", item_set.pk, staged["items"])  # noqa: S608
    beside.resume(staged["baselines"])
    bases = SequenceReader(path, limits=limits, start=Place(*state["place"]))
    return Stage(intake, item_set, bases, beside, staged["items"], staged["line"])


def clear(intake: Intake) -> None:
    """Take away everything staged for an intake that nothing was ordered on, a batch at a time."""
    with transaction.atomic():
        _still_ours(intake)
        IntakeCheckpoint.objects.filter(intake=intake).delete()
    records = "SELECT id FROM orders_intakerecord WHERE intake_id = %s LIMIT %s"
    _batchwise(intake, f"DELETE FROM orders_intakerecord WHERE id IN ({records})", intake.pk)  # noqa: S608
    drop_items(intake)


def drop_items(intake: Intake) -> None:
    """Take away the items of a refused file; its verdicts stay to be read."""
    item_set = intake.item_set
    if item_set is None:
        return
    linked = "SELECT id FROM orders_intakerecord WHERE intake_id = %s AND item_id IS NOT NULL LIMIT %s"
    _batchwise(intake, f"UPDATE orders_intakerecord SET item_id = NULL WHERE id IN ({linked})", intake.pk)  # noqa: S608
    items = "SELECT id FROM engine_queue_item WHERE item_set_id = %s LIMIT %s"
    _batchwise(intake, f"DELETE FROM engine_queue_item WHERE id IN ({items})", item_set.pk)  # noqa: S608
    with transaction.atomic():
        _still_ours(intake)
        intake.item_set = None
        intake.save(update_fields=["item_set"])
        item_set.delete()


def _still_ours(intake: Intake) -> None:
    """Lock the upload's row and compare: the version that `checking` gave is the fencing token of this attempt."""
    mine = {"pk": intake.pk, "state__in": ("checking", "withdrawn"), "version": intake.version}
    rows = Intake.objects.select_for_update(of=("self",)).filter(**mine)
    if not rows.exists():
        raise Superseded(code=str(Reason.INTAKE_WORKER_LOST))


def _batchwise(intake: Intake, sql: str, *keys: UUID | int) -> None:
    """Run a statement until it finds nothing more: each stays far below the role's time limit, whatever the file's size."""
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            _still_ours(intake)
            cursor.execute(sql, [*keys, BATCH])
            if cursor.rowcount < BATCH:
                return


def _item_ids(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('engine_queue_item_id_seq') FROM generate_series(1, %s)", [count])
        return [row[0] for row in cursor.fetchall()]


def _copy(table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
