"""Many rows of a manifest at once: what each costs, that its verdict is the one it would get alone, and who waits for it."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

from audit.models import Event
from engine_queue.models import Item
from foundation import clock
from orders import checking, checking_together, tasks, uploads
from orders.manifests import checking as rows_checking
from orders.manifests import claims, services, working
from orders.models import Intake, Manifest, Order
from outbox.models import Message
from storage.services import path_of
from tests.orders import test_baselines as annotating
from tests.orders.test_manifests import Bench, Died, cells, states, vcf, worked, zip_of
from tests.registry.genes import BASES

pytestmark = pytest.mark.django_db
HEAD = annotating.HEADER
SAMPLES = HEAD.replace("INFO\n", "INFO\tFORMAT\tmother\tchild\n")
CHECKED, PLACED = 5, 28  # statements of a row, at most


@pytest.fixture
def bench() -> Bench:
    return Bench()


def line(position: int, ref: str, alt: str, more: str = "") -> str:
    return f"one\t{position}\t.\t{ref}\t{alt}\t.\tPASS\t.{more}\n"


FILES = {
    "changes.vcf": HEAD + "".join(line(*change) for change in sorted(annotating.CHANGES)),
    "moved.vcf": HEAD + line(7, "TCA", "T") + line(8, "C", "CG") + line(9, "A" if BASES[8] != "A" else "C", "T"),
    "sample.vcf": SAMPLES + line(10, BASES[9], "G", "\tGT\t0/0\t0/1") + line(11, BASES[10], "G", "\tGT\t1/1\t0/0"),
    "unchosen.vcf": SAMPLES + line(10, BASES[9], "G", "\tGT\t0/1\t0/1"),
    "nothing.vcf": HEAD + line(10, "N", "<CNV>"),
    "reads.fa": ">first\nACGTNACGU\nAC\n>second\nTTTT\n",
    "rubbish.vcf": "this is no file of ours",
}
SAMPLE = {"sample.vcf": "child"}


def kept(intake: Intake) -> dict[str, Any]:
    """All that the check of an upload left, but for its keys and times."""
    columns = ("state", "kind", "filename", "samples", "sample", "records", "counts", "problems", "facts", "progress", "tries")
    rows = [
        {name: value for name, value in row.items() if name not in ("id", "intake_id", "item_id")} | {"item": bool(row["item_id"])}
        for row in intake.rows.order_by("id").values()
    ]
    items = (
        Item.objects.filter(item_set=intake.item_set_id).order_by("ordinal").values_list("ordinal", "position", "alt", "sequence")
    )
    events = Event.objects.filter(object_id=str(intake.pk)).order_by("id").values_list("action", "actor_name", "reason", "facts")
    of_set = intake.item_set and (intake.item_set.kind, intake.item_set.count, intake.item_set.reference_id)
    frozen = bool(intake.item_set and intake.item_set.frozen_at)
    return {name: getattr(intake, name) for name in columns} | {
        "rows": rows, "items": list(items), "events": list(events), "set": of_set, "frozen": frozen,
    }  # fmt: skip


def test_files_checked_together_are_kept_as_each_is_alone(tmp_path: Path, settings: Any) -> None:
    bench = Bench()
    bench.test = annotating.annotated(annotating.tiny(tmp_path, settings, accepts=("vcf", "fasta")))
    rows = [cells(n, file=name, sample=SAMPLE.get(name, "")) for n, name in enumerate(FILES)]
    bench.sent(*rows, files={name: text.encode() for name, text in FILES.items()})
    together = {intake.filename: kept(intake) for intake in Intake.objects.select_related("item_set")}
    for name, text in FILES.items():
        intake = uploads.start_intake(
            actor=bench.actor, test_version=bench.test, ordering_organisation_id=bench.hospital.pk, chunks=[text.encode()],
            filename=name, sample=SAMPLE.get(name, ""),
        )  # fmt: skip
        checking.check_intake(intake.pk)
        assert together[name] == kept(Intake.objects.select_related("item_set").get(pk=intake.pk))
    assert {one["state"] for one in together.values()} == {"ready", "refused"}


def cost(many: Manifest, few: Manifest, more: int) -> float:
    """Statements that each further row takes."""
    counts = []
    for manifest in (few, many):
        with CaptureQueriesContext(connection) as queries:
            worked(manifest)
        counts.append(len(queries))
    return (counts[1] - counts[0]) / more


def test_a_row_costs_few_statements(bench: Bench) -> None:
    few, many = [cells(n) for n in range(2)], [cells(n) for n in range(100, 122)]
    sent = [
        bench.send(zip_of(bench.csv(*rows), {row["file"]: vcf(100 + n) for n, row in enumerate(rows)}), "a.zip")
        for rows in (few, many)
    ]
    worked(bench.send(zip_of(bench.csv(cells(500)), {"500.vcf": vcf(900)}), "warm.zip"))
    assert cost(sent[1], sent[0], 20) <= CHECKED
    for manifest in sent:
        ask_to_place(bench, manifest)
    assert cost(sent[1], sent[0], 20) <= PLACED
    assert Order.objects.count() == 24


def ask_to_place(bench: Bench, manifest: Manifest) -> None:
    """Nobody does it yet."""
    manifest.refresh_from_db()
    services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version)


def test_a_long_file_is_checked_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking_together, "BATCH", 1)
    alone: list[str] = []
    check = checking.check_intake
    monkeypatch.setattr(checking, "check_intake", lambda pk: (alone.append(Intake.objects.get(pk=pk).filename), check(pk)))
    three = vcf(100) + b"".join(vcf(position).splitlines(keepends=True)[-1] for position in (101, 102))
    manifest = bench.sent(cells(1), cells(2), files={"1.vcf": three, "2.vcf": vcf(103)})
    assert (states(manifest), alone) == (["valid", "valid"], ["1.vcf"])
    assert sorted(intake.records for intake in Intake.objects.all()) == [1, 3]


def test_what_the_database_refuses_of_several_rows_is_settled_row_by_row(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = rows_checking.keep

    def refused(**given: Any) -> list[Intake]:
        if len(given["examined"]) > 1:
            raise DataError
        return keep(**given)

    monkeypatch.setattr(rows_checking, "keep", refused)
    assert states(bench.sent(cells(1), cells(2), cells(3))) == ["valid"] * 3
    assert Intake.objects.count() == 3


def test_a_row_that_kills_its_worker_is_found_among_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    examine = rows_checking.examine

    def deadly(files: Any) -> Any:
        if any(path_of(small.file.sha256).read_bytes() == vcf(103) for small in files):
            raise Died
        return examine(files)

    monkeypatch.setattr(rows_checking, "examine", deadly)
    manifest, deaths = bench.send(zip_of(bench.csv(*map(cells, range(5))), {f"{n}.vcf": vcf(100 + n) for n in range(5)})), 0
    while Manifest.objects.get().state == "checking":
        try:
            working.work(manifest.pk)
        except Died:
            deaths += 1
            Manifest.objects.update(claimed_at=clock.now() - timedelta(minutes=4))
            claims.recover()
    assert states(manifest) == ["valid", "valid", "valid", "invalid", "valid"]
    assert (manifest.rows.get(state="invalid").objections[0]["code"], deaths) == ("intake.check-failed", 5)


def taken(*, large: bool) -> str:
    """What a worker for small or large files takes next, done to its end; blank: nothing waits."""
    waiting = Message.objects.filter(sent_at=None, payload__large=large, topic__in=[claims.TOPIC, uploads.TOPIC])
    message = waiting.order_by("id").first()
    if message is None:
        return ""
    Message.objects.filter(pk=message.pk).update(sent_at=clock.now())
    if message.topic == claims.TOPIC:
        tasks.work_on_manifest(message.payload["manifest"])
    else:
        tasks.check_intake(message.payload["intake"])
    return message.topic


def upload(bench: Bench, position: int) -> Intake:
    at = {"test_version": bench.test, "ordering_organisation_id": bench.hospital.pk}
    return uploads.start_intake(actor=bench.actor, chunks=[vcf(position)], filename="s.vcf", **at)


def test_the_check_of_an_upload_waits_for_no_more_than_a_slice_of_somebody_elses_rows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MANY", 3)
    monkeypatch.setattr(rows_checking, "TOGETHER", 2)
    monkeypatch.setattr(tasks.working, "work", partial(working.work, seconds=0))
    rows = [cells(n) for n in range(9)]
    manifest = bench.send(zip_of(bench.csv(*rows), {row["file"]: vcf(100 + n) for n, row in enumerate(rows)}))
    stat = upload(bench, 500)
    assert [taken(large=False) for _ in range(3)] == [claims.TOPIC, uploads.TOPIC, ""]
    stat.refresh_from_db()
    assert (stat.state, states(manifest).count("pending")) == ("ready", 7)
    while taken(large=True) or taken(large=False):
        pass
    ask_to_place(bench, manifest)
    upload(bench, 501)
    assert [taken(large=False), taken(large=True), states(manifest).count("placed")] == [uploads.TOPIC, claims.TOPIC, 1]


def test_a_manifest_with_stat_rows_left_is_not_behind_large_files(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MANY", 0)
    manifest = bench.sent(cells(1, priority="stat", stat_reason="sepsis"), cells(2))
    ask_to_place(bench, manifest)
    working.work(manifest.pk, seconds=0)
    queues = Message.objects.filter(topic=claims.TOPIC).order_by("id").values_list("payload__large", flat=True)
    assert list(queues)[1:] == [False, True]  # the STAT row, and what is left
