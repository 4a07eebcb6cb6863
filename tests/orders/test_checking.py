"""From an upload to its verdict, through the real checker and the real COPY."""

import errno
import itertools
from collections.abc import Iterator
from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings

from accounts.roles import Role
from engine_queue.models import Item, ItemSet
from foundation import clock
from foundation.errors import NotPermitted, Refused
from orders import checking, tasks, uploads
from orders.models import Intake, IntakeRecord, Order
from outbox.models import Message
from registry.models import TestVersion
from storage import services as storage
from storage.models import StoredFile
from storage.services import TooLarge, path_of
from tests import factories

pytestmark = pytest.mark.django_db

HEADER = "##fileformat=VCFv4.2\n##contig=<ID=contig1,length=4000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"


def _vcf(*rows: str, header: str = HEADER) -> bytes:
    return ("\n".join([header, *("\t".join(row.split()) for row in rows)]) + "\n").encode()


def _row(position: int, *, alt: str = "", ref: str = "") -> str:
    base = ref or factories.BASES[position - 1]
    return f"contig1 {position} . {base} {alt or next(b for b in 'ACGT' if b != base)} . PASS ."


def _upload(content: bytes, *, test: TestVersion | None = None, sample: str = "", name: str = "panel.vcf") -> Intake:
    test = test or factories.make_test_version()
    actor = factories.make_actor(role=Role.ANALYST, organisation=test.definition.laboratory)
    return uploads.start_intake(
        actor=actor,
        test_version=test,
        ordering_organisation_id=test.definition.laboratory_id,
        chunks=[content],
        filename=name,
        sample=sample,
    )


def _checked(content: bytes, **kwargs: object) -> Intake:
    intake = _upload(content, **kwargs)  # type: ignore[arg-type]
    checking.check_intake(intake.pk)
    return Intake.objects.get(pk=intake.pk)


def test_a_good_file_becomes_ready_with_its_items_in_order() -> None:
    intake = _checked(_vcf(_row(100), _row(50), _row(200)))
    assert (intake.state, intake.counts["accepted"], intake.records, intake.progress) == ("ready", 3, 3, 1)
    assert intake.item_set is not None
    assert list(intake.item_set.items.order_by("ordinal").values_list("position", flat=True)) == [100, 50, 200]
    assert intake.item_set.count == 3


def test_each_verdict_keeps_its_line_and_code_and_only_accepted_ones_are_items() -> None:
    wrong = "A" if factories.BASES[99] != "A" else "C"
    intake = _checked(
        _vcf(
            *(_row(p) for p in range(300, 330)),
            _row(100, ref=wrong, alt="G"),
            f"contig1 120 . {factories.BASES[119]} <DEL> . PASS .",
        )
    )
    parked = IntakeRecord.objects.get(intake=intake, outcome="parked")
    refused = IntakeRecord.objects.get(intake=intake, outcome="refused")
    assert (refused.line, parked.line) == (34, 35)
    assert (refused.item, parked.item) == (None, None)
    assert refused.code
    assert Item.objects.count() == intake.counts["accepted"] == 30


def test_counts_add_up_to_records_times_alternates() -> None:
    intake = _checked(
        _vcf(_row(100, alt=",".join(b for b in "ACGT" if b != factories.BASES[99])), _row(200), "contig1 9000 . A C . PASS .")
    )
    assert sum(intake.counts.values()) == IntakeRecord.objects.filter(intake=intake).count() == 5


def test_a_refused_file_leaves_its_verdict_and_no_items() -> None:
    intake = _checked(b"not a vcf at all\n")
    assert (intake.state, intake.item_set, ItemSet.objects.count()) == ("refused", None, 0)
    assert intake.problems[0]["code"]


def test_a_file_with_several_samples_waits_for_the_choice() -> None:
    header = HEADER + "\tFORMAT\tmother\tchild"
    vcf = _vcf(_row(100) + " GT 0/0 0/1", _row(200) + " GT 0/1 0/0", header=header)
    first = _checked(vcf)
    assert (first.state, first.samples) == ("refused", ["mother", "child"])
    actor = factories.make_actor(role=Role.ANALYST, organisation=first.performing_laboratory)
    with pytest.raises(Refused):
        uploads.choose_sample(actor=actor, intake=first, sample="uncle")
    second = uploads.choose_sample(actor=actor, intake=first, sample="child")
    checking.check_intake(second.pk)
    second.refresh_from_db()
    assert (second.state, second.sample, second.counts["accepted"], second.counts["not_carried"]) == ("ready", "child", 1, 1)


def test_sequences_of_a_fasta_are_staged_whole() -> None:
    intake = _checked(b">a first\nACGT\nACG\n>b\nTTTT\n", test=factories.make_test_version(accepts=["fasta"]), name="reads.fa")
    assert intake.item_set is not None
    assert list(intake.item_set.items.order_by("ordinal").values_list("sequence", flat=True)) == ["ACGTACG", "TTTT"]


def test_a_message_that_comes_twice_finds_nothing_to_do() -> None:
    intake = _checked(_vcf(_row(100)))
    checking.check_intake(intake.pk)
    assert (Intake.objects.get(pk=intake.pk).version, IntakeRecord.objects.count()) == (intake.version, 1)


def test_a_check_whose_worker_died_starts_again_and_stages_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = _upload(_vcf(*(_row(p) for p in range(100, 120))))
    with monkeypatch.context() as dying:
        dying.setattr(checking, "_settle", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            checking.check_intake(intake.pk)
    assert checking.recover() == 0
    later = clock.now() + timedelta(minutes=5)
    monkeypatch.setattr(clock, "_source", lambda: later)
    assert checking.recover() == 1
    checking.check_intake(intake.pk)
    assert (Intake.objects.get(pk=intake.pk).state, Item.objects.count(), IntakeRecord.objects.count()) == ("ready", 20, 20)


def test_a_check_that_was_overtaken_writes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = _upload(_vcf(*(_row(p) for p in range(100, 120))))
    begin = checking.staging.begin

    def begin_late(taken: Intake, *args: object, **kwargs: object) -> object:
        stage = begin(taken, *args, **kwargs)  # type: ignore[arg-type]
        Intake.objects.filter(pk=taken.pk).update(version=taken.version + 2)  # given back and taken up by another worker
        return stage

    monkeypatch.setattr(checking.staging, "begin", begin_late)
    checking.check_intake(intake.pk)
    assert (Intake.objects.get(pk=intake.pk).state, Item.objects.count(), IntakeRecord.objects.count()) == ("checking", 0, 0)


def test_a_file_that_takes_its_worker_with_it_is_refused_after_three_attempts() -> None:
    intake = _upload(_vcf(_row(100)))
    Intake.objects.filter(pk=intake.pk).update(tries=3)
    checking.check_intake(intake.pk)
    intake.refresh_from_db()
    assert (intake.state, intake.problems[0]["code"]) == ("refused", "intake.check-failed")


def test_an_upload_whose_message_was_lost_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = _upload(_vcf(_row(100)))
    assert checking.recover() == 0
    later = clock.now() + timedelta(minutes=1)
    monkeypatch.setattr(clock, "_source", lambda: later)
    assert (checking.recover(), checking.recover()) == (1, 0)
    assert Message.objects.filter(topic=uploads.TOPIC, payload__intake=str(intake.pk)).count() == 2


def test_a_sample_name_that_no_column_holds_is_a_verdict() -> None:
    intake = _checked(_vcf(_row(100) + " GT 0/1", header=f"{HEADER}\tFORMAT\t{'s' * 5000}"))
    assert (intake.state, intake.problems[0]["code"], intake.problems[0]["line"]) == ("refused", "vcf.column-line", 3)


def test_tens_of_thousands_of_alternates_are_a_verdict_each() -> None:
    base = factories.BASES[99]
    alts = ",".join(f"{base}{'ACGT'[n % 4]}{'ACGT'[n // 4 % 4]}" for n in range(40_000))
    intake = _checked(_vcf(_row(100, alt=alts)))
    assert sum(intake.counts.values()) == IntakeRecord.objects.filter(intake=intake).count() == 40_000


def test_what_the_database_cannot_hold_is_refused_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = _upload(_vcf(_row(100)))
    monkeypatch.setattr(checking, "view", lambda _: (_ for _ in ()).throw(OSError("the disk is gone")))
    checking.check_intake(intake.pk)
    intake.refresh_from_db()
    assert (intake.state, intake.problems[0]["code"], Item.objects.count()) == ("refused", "intake.check-failed", 0)


def test_a_full_disk_is_a_refusal_that_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(storage.NoSpace):
        _upload(b"some")
    assert not (StoredFile.objects.exists() or list((settings.DATA_DIR / "incoming").iterdir()))


@pytest.mark.parametrize(("size", "queue"), [(10, "intake"), (1_000_001, "intake-large")])
def test_a_large_file_waits_in_another_line_than_a_small_one(size: int, queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.check_intake, "apply_async", lambda **kwargs: sent.append(kwargs["queue"]))
    intake = _upload(b"x" * size)
    tasks.deliver(Message.objects.get(payload__intake=str(intake.pk)).payload)
    assert sent == [queue]


def test_a_check_that_takes_too_long_is_refused_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = _upload(_vcf(_row(100)))
    monkeypatch.setattr(checking, "_settle", lambda *_: (_ for _ in ()).throw(SoftTimeLimitExceeded))
    checking.check_intake(intake.pk)
    intake.refresh_from_db()
    assert (intake.state, intake.problems[0]["code"], Item.objects.count()) == ("refused", "intake.too-slow", 0)


def test_files_that_nothing_speaks_of_are_swept_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, orphan = _upload(b"kept"), storage.write(chunks=[b"left behind by a failed transaction"], limit=100)
    assert storage.sweep_orphans() == 0
    later = clock.now() + timedelta(days=2)
    monkeypatch.setattr(clock, "_source", lambda: later)
    storage.sweep_orphans()
    assert (path_of(kept.file.sha256).exists(), path_of(orphan.sha256).exists()) == (True, False)


def test_large_files_are_staged_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "BATCH", 7)
    intake = _checked(_vcf(*(_row(p) for p in range(100, 150))))
    assert list(Item.objects.order_by("ordinal").values_list("ordinal", flat=True)) == list(range(50))
    assert intake.counts["accepted"] == 50


def test_too_large_an_upload_keeps_nothing(monkeypatch: pytest.MonkeyPatch, settings: object) -> None:
    settings.UPLOAD_LIMIT = 10  # type: ignore[attr-defined]
    with pytest.raises(TooLarge):
        _upload(b"x" * 11)
    assert not (StoredFile.objects.exists() or Intake.objects.exists())


def test_an_upload_that_breaks_off_leaves_no_file() -> None:
    test = factories.make_test_version()
    actor = factories.make_actor(role=Role.ANALYST, organisation=test.definition.laboratory)

    def broken() -> Iterator[bytes]:
        yield b"some"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        uploads.start_intake(
            actor=actor, test_version=test, ordering_organisation_id=test.definition.laboratory_id, chunks=broken(), filename="a"
        )
    assert not StoredFile.objects.exists()
    assert not list((settings.DATA_DIR / "incoming").iterdir())


def test_the_name_of_a_file_never_becomes_a_path() -> None:
    intake = _upload(b"x", name="../../etc/passwd")
    assert intake.filename == "passwd"
    assert path_of(intake.file.sha256).is_relative_to(settings.DATA_DIR)


def test_the_same_content_is_stored_once() -> None:
    test = factories.make_test_version()
    first, second = (_upload(b"same", test=test) for _ in range(2))
    assert first.file == second.file


def test_someone_who_may_not_order_cannot_upload() -> None:
    test = factories.make_test_version()
    actor = factories.make_actor(role=Role.AUDITOR, organisation=test.definition.laboratory)
    with pytest.raises(NotPermitted):
        uploads.start_intake(
            actor=actor, test_version=test, ordering_organisation_id=test.definition.laboratory_id, chunks=[], filename="a"
        )


def test_a_checked_upload_can_be_ordered() -> None:
    intake = _checked(_vcf(*(_row(p) for p in itertools.islice(itertools.count(100, 7), 30))))
    factories.make_order(intake=intake)
    assert Order.objects.get().items_total == 30
