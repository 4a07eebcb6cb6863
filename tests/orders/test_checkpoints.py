"""A check whose worker is killed goes on from its checkpoint, and ends exactly as one that nobody disturbed."""

import gzip
import random
from datetime import timedelta
from typing import Any

import pytest

from accounts.roles import Role
from engine_queue.models import Item, ItemSet
from foundation import clock
from foundation.errors import NotPermitted, Refused
from orders import checking, staging, uploads
from orders.intake import Limits
from orders.models import Intake, IntakeCheckpoint, IntakeRecord
from outbox.models import Message
from registry.models import TestVersion
from tests import factories
from tests.intake.conftest import DEMO

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint behind every batch of a few records."""
    monkeypatch.setattr(checking, "BATCH", 8)
    monkeypatch.setattr(checking, "CHECKPOINT_EVERY", 0.0)
    monkeypatch.setattr(checking, "LIMITS", Limits(batch=8, remembered_variants=30))


@pytest.fixture(scope="module")
def rcrs_bases() -> str:
    return "".join((DEMO / "rcrs" / "rcrs.fa").read_text().splitlines()[1:]).upper()


def upload(content: bytes, test: TestVersion, *, sample: str = "") -> Intake:
    actor = factories.make_actor(role=Role.ANALYST, organisation=test.definition.laboratory)
    asked: dict[str, Any] = {"actor": actor, "test_version": test, "ordering_organisation_id": test.definition.laboratory_id}
    return uploads.start_intake(**asked, chunks=[content], filename="a.vcf", sample=sample)


def many_samples(times: int = 3) -> bytes:
    """A real file of several samples, its records repeated so that repeats and disorder have to be remembered."""
    head, _, rows = (DEMO / "rcrs" / "hmtnote_multisample.vcf").read_bytes().rpartition(b"#CHROM")
    columns, _, body = rows.partition(b"\n")
    return head + b"#CHROM" + columns + b"\n" + body * times


class Died(BaseException):
    """What a killed worker sees of its death."""


def dying(monkeypatch: pytest.MonkeyPatch, drawn: random.Random, share: float) -> None:
    """Workers die before or after writing a batch, at random."""
    write = staging.Stage.write

    def maybe(stage: staging.Stage, verdicts: Any, checkpoint: Any = None) -> None:
        if drawn.random() < share:
            raise Died
        write(stage, verdicts, checkpoint if drawn.random() < 0.5 else None)  # many batches lie behind the last checkpoint
        if drawn.random() < share:
            raise Died

    monkeypatch.setattr(staging.Stage, "write", maybe)


def checked_with_deaths(intake: Intake) -> int:
    deaths = 0
    while Intake.objects.get(pk=intake.pk).state in ("waiting", "checking"):
        try:
            checking.check_intake(intake.pk)
        except Died:
            deaths += 1
            Intake.objects.filter(pk=intake.pk).update(claimed_at=clock.now() - timedelta(minutes=5), tries=0)
            checking.recover()
    return deaths


def everything(intake: Intake) -> tuple[object, ...]:
    intake.refresh_from_db()
    of_intake = {
        name: getattr(intake, name) for name in ["state", "kind", "samples", "sample", "records", "counts", "problems", "facts"]
    }
    left_out = {"id", "intake_id", "item_id"}
    records = [{k: v for k, v in row.items() if k not in left_out} for row in intake.rows.order_by("line", "alt_index").values()]
    items = list(
        Item.objects.filter(item_set=intake.item_set_id)
        .order_by("ordinal")
        .values_list("ordinal", "position", "ref", "alt", "sequence")
    )
    linked = list(intake.rows.exclude(item=None).order_by("line", "alt_index").values_list("item__ordinal", flat=True))
    return of_intake, records, items, linked, intake.item_set and intake.item_set.count


@pytest.mark.parametrize("seed", range(4))
def test_wherever_workers_die_the_verdict_the_rows_and_the_items_are_the_same(
    seed: int, rcrs_bases: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = factories.make_test_version(reference=factories.make_reference(rcrs_bases, contig="MT"))
    content = many_samples()
    content = [content, gzip.compress(content)][seed % 2]
    quiet = upload(content, test, sample="SRR1777294")
    checking.check_intake(quiet.pk)
    disturbed = upload(content, test, sample="SRR1777294")
    dying(monkeypatch, random.Random(seed), 0.1)
    assert checked_with_deaths(disturbed) > 2
    assert everything(disturbed) == everything(quiet)
    assert not IntakeCheckpoint.objects.exists()


def test_sequences_are_the_same_bases_after_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(5)
    fasta = "".join(f">s{n % 90}\n{''.join(drawn.choices('ACGTN', k=70))}\r\nACGT\n" for n in range(100)).encode()
    test = factories.make_test_version(accepts=["fasta"])
    quiet, disturbed = (upload(fasta, test) for _ in range(2))
    checking.check_intake(quiet.pk)
    dying(monkeypatch, drawn, 0.1)
    assert checked_with_deaths(disturbed) > 2
    assert everything(disturbed) == everything(quiet)


def row(position: int) -> str:
    base = factories.BASES[position - 1]
    return f"contig1\t{position}\t.\t{base}\t{'ACGT'[('ACGT'.index(base) + 1) % 4]}\t.\tPASS\t."


def panel(count: int) -> bytes:
    rows = [row(position) for position in range(100, 100 + count)]
    return ("\n".join(["##fileformat=VCFv4.2", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", *rows]) + "\n").encode()


def test_a_checkpoint_of_an_unknown_version_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = upload(panel(60), factories.make_test_version())
    with monkeypatch.context() as dying_late:
        dying_late.setattr(checking, "_settle", lambda *_: (_ for _ in ()).throw(Died))
        with pytest.raises(Died):
            checking.check_intake(intake.pk)
    assert IntakeCheckpoint.objects.get().staged["items"] > 40
    IntakeCheckpoint.objects.update(state=b"made by a later version")
    Intake.objects.update(claimed_at=clock.now() - timedelta(minutes=5))
    checking.recover()
    checking.check_intake(intake.pk)
    assert (Intake.objects.get(pk=intake.pk).state, Item.objects.count(), IntakeRecord.objects.count()) == ("ready", 60, 60)


def test_a_long_check_makes_room_for_others_and_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SLICE", 0.0)
    intake = upload(panel(30), factories.make_test_version())
    slices = 0
    while Intake.objects.get(pk=intake.pk).state == "waiting":
        checking.check_intake(intake.pk)
        slices += 1
    intake.refresh_from_db()
    assert (intake.state, intake.counts["accepted"], Item.objects.count()) == ("ready", 30, 30)
    assert slices == Message.objects.filter(topic=uploads.TOPIC).count() > 2


def test_a_file_is_given_three_tries_again_for_every_checkpoint() -> None:
    intake = upload(panel(30), factories.make_test_version())
    Intake.objects.update(tries=2)
    checking.check_intake(intake.pk)
    intake.refresh_from_db()
    assert (intake.state, intake.tries) == ("ready", 1)


def test_an_upload_that_is_removed_stops_its_check_and_leaves_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = upload(panel(60), factories.make_test_version())
    owner = factories.make_actor(role=Role.REQUESTER, organisation=intake.ordering_organisation)
    write, batches = staging.Stage.write, []

    def removed_meanwhile(stage: staging.Stage, verdicts: Any, checkpoint: Any = None) -> None:
        write(stage, verdicts, checkpoint)
        batches.append(len(verdicts))
        if len(batches) == 2:
            uploads.withdraw(actor=owner, intake=intake)

    monkeypatch.setattr(staging.Stage, "write", removed_meanwhile)
    checking.check_intake(intake.pk)
    intake.refresh_from_db()
    assert (intake.state, len(batches)) == ("withdrawn", 2)
    assert not (
        IntakeRecord.objects.exists() or Item.objects.exists() or ItemSet.objects.exists() or IntakeCheckpoint.objects.exists()
    )


def test_what_a_dead_worker_had_staged_of_a_removed_upload_is_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = upload(panel(60), factories.make_test_version())
    monkeypatch.setattr(checking, "_settle", lambda *_: (_ for _ in ()).throw(Died))
    with pytest.raises(Died):
        checking.check_intake(intake.pk)
    owner = factories.make_actor(role=Role.REQUESTER, organisation=intake.ordering_organisation)
    uploads.withdraw(actor=owner, intake=intake)
    checking.recover()
    assert not (IntakeRecord.objects.exists() or Item.objects.exists())


def test_who_may_not_order_removes_nothing_and_what_is_checked_stays() -> None:
    intake = upload(panel(20), factories.make_test_version())
    with pytest.raises(NotPermitted):
        uploads.withdraw(actor=factories.make_actor(role=Role.AUDITOR, organisation=intake.ordering_organisation), intake=intake)
    checking.check_intake(intake.pk)
    with pytest.raises(Refused, match="ended already"):
        uploads.withdraw(actor=factories.make_actor(role=Role.REQUESTER, organisation=intake.ordering_organisation), intake=intake)
    assert Intake.objects.get(pk=intake.pk).state == "ready"


def test_a_check_that_stands_still_is_found_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """EVIDENCE 6: an import that was stuck for weeks and found by hand."""
    intake = upload(panel(60), factories.make_test_version())
    with monkeypatch.context() as stuck:
        stuck.setattr(checking, "_settle", lambda *_: (_ for _ in ()).throw(Died))
        with pytest.raises(Died):
            checking.check_intake(intake.pk)
    later = clock.now() + timedelta(minutes=3)
    monkeypatch.setattr(clock, "_source", lambda: later)
    assert checking.recover() == 1
    checking.check_intake(intake.pk)
    assert Intake.objects.get(pk=intake.pk).state == "ready"


def test_a_check_of_an_upload_that_is_gone_does_nothing() -> None:
    """EVIDENCE 6: a task that ran after its row was deleted."""
    intake = upload(panel(3), factories.make_test_version())
    Intake.objects.filter(pk=intake.pk).delete()
    checking.check_intake(intake.pk)
    assert not IntakeRecord.objects.exists()
