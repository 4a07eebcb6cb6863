"""Bulk orders: from a table, alone or in a ZIP, to orders that exist exactly once."""

import io
import zipfile
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Membership, Provider, Site
from accounts.roles import Role
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from orders import uploads
from orders.downtimes import records
from orders.manifests import claims, placing, services, table, working
from orders.manifests.columns import COLUMNS
from orders.models import Intake, Manifest, ManifestRow, Order
from outbox.models import Message
from registry.models import TestVersion
from tests import factories

pytestmark = pytest.mark.django_db


def vcf(position: int = 100) -> bytes:
    base = factories.BASES[position - 1]
    other = next(b for b in "ACGT" if b != base)
    head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    return f"{head}contig1\t{position}\t.\t{base}\t{other}\t.\tPASS\t.\n".encode()


def cells(n: int, **changes: str) -> dict[str, str]:
    """One complete row."""
    row = {
        "mrn": f"B-{n}",
        "family_name": "Muster",
        "given_name": f"Person {n}",
        "birth_date": "1970-01-31",
        "sex": "female",
        "specimen": f"S-{n}",
        "specimen_type": "Blood",
        "collected_at": "2026-01-05 08:30",
        "file": f"{n}.vcf",
        "test": "panel",
        "priority": "routine",
    }
    return {**row, **changes}


def csv_of(rows: Iterable[dict[str, str]], delimiter: str = ",") -> bytes:
    rows = list(rows)
    names = [column.name for column in COLUMNS if any(column.name in row for row in rows)]
    lines = [names, *([f'"{row.get(name, "")}"' for name in names] for row in rows)]
    return "\r\n".join(delimiter.join(line) for line in lines).encode()


def zip_of(table_bytes: bytes, files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.csv", table_bytes)
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


class Bench:
    """A hospital with somebody who orders, and a test."""

    def __init__(self, role: Role = Role.REQUESTER, zone: str = "Europe/Berlin") -> None:
        self.hospital = factories.make_organisation(time_zone=zone)
        self.actor = factories.make_actor(role=role, organisation=self.hospital)
        self.test: TestVersion = factories.make_test_version()

    def csv(self, *rows: dict[str, str]) -> bytes:
        """The rows as a table; “panel” is the code of the test."""
        code = self.test.definition.code
        return csv_of({**row, "test": code if row["test"] == "panel" else row["test"]} for row in rows)

    def send(self, content: bytes, name: str = "orders.zip") -> Manifest:
        return services.send(actor=self.actor, organisation_id=self.hospital.pk, chunks=[content], filename=name)

    def sent(self, *rows: dict[str, str], files: dict[str, bytes] | None = None) -> Manifest:
        """A ZIP, checked to its verdict."""
        packed = files if files is not None else {row["file"]: vcf(100 + n) for n, row in enumerate(rows)}
        return worked(self.send(zip_of(self.csv(*rows), packed)))

    def place(self, manifest: Manifest, *, valid_only: bool = False, actor: Actor | None = None) -> Manifest:
        services.place(actor=actor or self.actor, manifest=manifest, valid_only=valid_only, expected_version=manifest.version)
        return worked(manifest)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def worked(manifest: Manifest) -> Manifest:
    while working.work(manifest.pk):
        pass
    return Manifest.objects.get(pk=manifest.pk)


def said(manifest: Manifest) -> dict[int, list[tuple[str, str]]]:
    """Row → column and code of every objection."""
    return {row.number: [(each["column"], each["code"]) for each in row.objections] for row in manifest.rows.order_by("number")}


def states(manifest: Manifest) -> list[str]:
    return list(manifest.rows.order_by("number").values_list("state", flat=True))


def test_a_zip_of_valid_rows_becomes_orders_stat_first(bench: Bench) -> None:
    rows = [cells(1), cells(2, priority="STAT", stat_reason="sepsis"), cells(3, priority="urgent")]
    manifest = bench.sent(*rows)
    assert (manifest.state, states(manifest), manifest.problems) == ("checked", ["valid"] * 3, [])
    manifest = bench.place(manifest)
    assert (manifest.state, states(manifest)) == ("placed", ["placed"] * 3)
    orders = list(Order.objects.order_by("accession"))
    assert [order.priority for order in orders] == ["stat", "urgent", "routine"]
    assert [order.stated_mrn for order in orders] == ["B-2", "B-3", "B-1"]
    assert {order.state for order in orders} == {"accepted"}
    assert orders[0].specimen.collected_at.isoformat() == "2026-01-05T07:30:00+00:00"  # Berlin in winter


def test_a_table_alone_names_files_that_were_uploaded(bench: Bench) -> None:
    for n in (1, 2):
        uploads.start_intake(
            actor=bench.actor,
            test_version=bench.test,
            ordering_organisation_id=bench.hospital.pk,
            chunks=[vcf(100 + n)],
            filename=f"{n}.vcf",
        )
    digest = Intake.objects.get(filename="2.vcf").file.sha256
    manifest = worked(bench.send(bench.csv(cells(1), cells(2, file=digest.upper()), cells(3)), "orders.csv"))
    assert said(manifest) == {2: [], 3: [], 4: [("file", "manifest.file-missing")]}


def test_two_uploads_of_one_name_are_asked_back(bench: Bench) -> None:
    for position in (100, 200):
        uploads.start_intake(
            actor=bench.actor,
            test_version=bench.test,
            ordering_organisation_id=bench.hospital.pk,
            chunks=[vcf(position)],
            filename="1.vcf",
        )
    assert said(worked(bench.send(bench.csv(cells(1)), "a.csv"))) == {2: [("file", "manifest.file-several")]}


def test_every_fault_is_told_with_its_row_and_column(bench: Bench) -> None:
    rows = {
        "mrn": cells(1, mrn=""),
        "birth_date": cells(2, birth_date="31.01.1970"),
        "sex": cells(3, sex="f"),
        "collected_at": cells(4, collected_at="2026-10-25 02:30"),
        "test": cells(5, test="panle"),
        "priority": cells(6, priority="hurry"),
        "stat_reason": cells(7, priority="stat"),
        "file": cells(8, file="absent.vcf"),
        "placer_number": cells(9, placer_number="9" * 81),
        "specimen": cells(10, specimen=""),
    }
    files = {f"{n}.vcf": vcf(100 + n) for n in range(1, 11)}
    manifest = bench.sent(*rows.values(), files=files)
    assert {number: [column for column, _ in each] for number, each in said(manifest).items()} == {
        number: [column] for number, column in enumerate(rows, start=2)
    }
    assert states(manifest) == ["invalid"] * 10
    assert manifest.problems[0]["code"] == "manifest.unnamed"  # 8.vcf


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("2026-10-25 02:30", "manifest.time-twice"),
        ("2026-03-29 02:30", "manifest.time-skipped"),
        ("2026-02-30 02:30", "manifest.time"),
        ("25.10.2026 02:30", "manifest.time"),
        ("2026-01-05", "manifest.time"),
        ("2027-01-05 10:00", "manifest.value"),  # in the future
        ("1969-01-05 10:00", "manifest.value"),  # before the birth
    ],
)
def test_a_time_that_is_no_single_moment_is_asked_back(bench: Bench, typed: str, found: str) -> None:
    assert said(bench.sent(cells(1, collected_at=typed))) == {2: [("collected_at", found)]}


def test_the_offset_says_which_of_the_two_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    then = clock.now().replace(year=2026, month=11, day=1)
    monkeypatch.setattr(clock, "_source", lambda: then)
    rows = [cells(1, collected_at="2026-10-25 02:30+02:00"), cells(2, collected_at="2026-10-25T02:30+01:00")]
    bench.place(bench.sent(*rows))
    hours = Order.objects.order_by("stated_mrn").values_list("specimen__collected_at__hour", flat=True)
    assert list(hours) == [0, 1]


def test_a_row_that_is_not_valid_holds_the_others_back_until_a_person_says_so(bench: Bench) -> None:
    manifest = bench.sent(cells(1), cells(2, sex="?"))
    with pytest.raises(services.NotAllValid):
        bench.place(manifest)
    assert not Order.objects.exists()
    manifest = bench.place(manifest, valid_only=True)
    assert (states(manifest), manifest.valid_only, Order.objects.get().stated_mrn) == (["placed", "invalid"], True, "B-1")


def test_what_the_intake_check_says_of_a_file_stands_at_its_row(bench: Bench) -> None:
    several = vcf().replace(b"INFO\n", b"INFO\tFORMAT\tmother\tchild\n").replace(b"PASS\t.\n", b"PASS\t.\tGT\t0/0\t0/1\n")
    rows = [
        cells(1),
        cells(2, file="s.vcf", sample="child"),
        cells(3, file="s.vcf"),
        cells(4, file="s.vcf", sample="uncle"),
        cells(5, file="s.vcf", sample="mother"),
    ]
    manifest = bench.sent(*rows, files={"1.vcf": b"no vcf", "s.vcf": several})
    assert said(manifest) == {
        2: [("file", "file.unknown-kind")],
        3: [],
        4: [("sample", "vcf.sample-choice")],
        5: [("sample", "vcf.unknown-sample")],
        6: [("file", "file.nothing-to-score")],
    }
    bench.place(manifest, valid_only=True)
    assert Order.objects.get().intake.sample == "child"


def test_the_same_row_twice_is_one_too_many(bench: Bench) -> None:
    assert said(bench.sent(cells(1), cells(1))) == {2: [], 3: [("", "manifest.row-twice")]}


def test_a_manifest_that_is_sent_again_places_nothing_twice_and_names_the_orders(bench: Bench) -> None:
    bench.place(bench.sent(cells(1), cells(2)))
    again = bench.sent(cells(1), cells(2), cells(3), files={f"{n}.vcf": vcf(99 + n) for n in (1, 2, 3)})
    assert states(again) == ["before", "before", "valid"]
    told = again.rows.get(number=2)
    assert told.order is not None and told.order.accession in told.objections[0]["words"]
    bench.place(again)
    assert Order.objects.count() == 3


def test_two_manifests_checked_before_either_was_placed_make_each_order_once(bench: Bench) -> None:
    first, second = bench.sent(cells(1)), bench.sent(cells(1))
    assert states(bench.place(first)) == ["placed"]
    assert states(bench.place(second)) == ["before"]
    assert Order.objects.count() == 1


def test_a_second_click_and_a_second_message_change_nothing(bench: Bench) -> None:
    manifest = bench.sent(cells(1), cells(2))
    for _ in range(2):
        services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version)
    worked(manifest)
    worked(manifest)
    assert (Order.objects.count(), Manifest.objects.get().state) == (2, "placed")


class Died(BaseException):
    """What a killed worker sees of its death."""


def test_a_worker_that_dies_while_it_places_leaves_every_order_exactly_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = bench.sent(*(cells(n) for n in range(5)))
    services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version)
    place, calls = placing.services.place, [0]

    def sometimes(**kwargs: Any) -> Order:
        calls[0] += 1
        order = place(**kwargs)
        if calls[0] % 2 == 0:
            raise Died  # after the order was written, before its row said so
        return order

    monkeypatch.setattr(placing.services, "place", sometimes)
    deaths = 0
    while Manifest.objects.get(pk=manifest.pk).state == "placing":
        try:
            working.work(manifest.pk)
        except Died:
            deaths += 1
            Manifest.objects.update(claimed_at=clock.now() - timedelta(minutes=2))
            assert claims.recover() == 1
    assert (deaths, Order.objects.count(), states(manifest)) == (4, 5, ["placed"] * 5)


def test_a_worker_that_dies_while_it_checks_is_found_and_the_rows_are_checked_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = bench.send(zip_of(bench.csv(cells(1), cells(2)), {"1.vcf": vcf(100), "2.vcf": vcf(101)}))
    with monkeypatch.context() as dying:
        dying.setattr(working.checking.validation, "validate", lambda *_, **__: (_ for _ in ()).throw(Died))
        with pytest.raises(Died):
            working.work(manifest.pk)
    assert not working.work(manifest.pk)  # somebody else may still hold it
    Manifest.objects.update(claimed_at=clock.now() - timedelta(minutes=4))
    assert claims.recover() == 1
    assert states(worked(manifest)) == ["valid", "valid"]
    assert Intake.objects.count() == 2


def test_a_row_that_kills_its_worker_three_times_is_put_aside(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = bench.send(zip_of(bench.csv(cells(1), cells(2)), {"1.vcf": vcf(100), "2.vcf": vcf(101)}))
    Manifest.objects.update(tries=3)
    manifest = worked(manifest)
    assert said(manifest) == {2: [("", "intake.check-failed")], 3: []}


def test_an_overtaken_worker_writes_nothing_more(bench: Bench) -> None:
    manifest = bench.send(bench.csv(cells(1)), "a.csv")
    held = claims.take(manifest.pk)
    assert held is not None
    Manifest.objects.update(claimed_at=clock.now() - timedelta(minutes=4))
    worked(manifest)
    with pytest.raises(claims.Superseded), claims.ours(held):
        pass


def test_stopping_keeps_what_was_placed_and_going_on_places_the_rest(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = bench.sent(cells(1), cells(2), cells(3))
    services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version)
    working.work(manifest.pk, seconds=0)
    services.stop(actor=bench.actor, manifest=manifest)
    manifest = worked(manifest)
    assert (manifest.state, Order.objects.count(), states(manifest)) == ("stopped", 1, ["placed", "valid", "valid"])
    assert bench.place(manifest).state == "placed"
    assert Order.objects.count() == 3


def test_identity_and_number_conflicts_are_parked_or_refused_as_on_the_form(bench: Bench) -> None:
    bench.place(bench.sent(cells(1, placer_number="P-1"), cells(9, placer_number="P-9")))
    stat = {"priority": "stat", "stat_reason": "sepsis"}
    rows = [
        cells(1, family_name="Anders"),  # a known number with another name
        cells(2, placer_number="P-1"),  # a number that stands for another order
        cells(3, placer_number="P-9", **stat),
    ]
    manifest = bench.place(bench.sent(*rows, files={f"{n}.vcf": vcf(300 + n) for n in (1, 2, 3)}))
    assert states(manifest) == ["placed", "refused", "placed"]
    assert said(manifest)[3] == [("", "order.conflict")]
    attention = {row.number: row.order.attention for row in manifest.rows.exclude(order=None) if row.order}
    assert attention == {2: "identity.mismatch", 4: "order.conflict"}


def test_who_may_not_order_stat_is_told_at_the_row() -> None:
    bench = Bench(role=Role.REQUESTER)
    reviewer = factories.make_actor(role=Role.REVIEWER, organisation=bench.hospital)
    with pytest.raises(NotPermitted):
        services.send(actor=reviewer, organisation_id=bench.hospital.pk, chunks=[b"x"], filename="a.csv")
    manifest = bench.sent(cells(1))
    with pytest.raises(NotPermitted):
        bench.place(manifest, actor=reviewer)
    with pytest.raises(NotPermitted):
        services.stop(actor=reviewer, manifest=manifest)


def test_who_has_left_places_nothing_more(bench: Bench) -> None:
    manifest = bench.sent(cells(1))
    services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version)
    Membership.objects.filter(user_id=bench.actor.id).update(ended_at=clock.now())
    manifest = worked(manifest)
    assert (manifest.state, manifest.problems[-1]["code"], Order.objects.count()) == ("stopped", "manifest.not-permitted", 0)


def test_a_stale_page_places_nothing(bench: Bench) -> None:
    manifest = bench.sent(cells(1))
    with pytest.raises(Stale):
        services.place(actor=bench.actor, manifest=manifest, valid_only=False, expected_version=manifest.version - 1)
    with pytest.raises(Refused):
        bench.place(bench.sent(cells(2, sex="?")), valid_only=True)


def test_a_large_file_is_left_to_the_workers_for_large_files(bench: Bench, settings: Any) -> None:
    settings.INTAKE_LARGE = 300
    padded = vcf(100).replace(b"PASS\t.", b"PASS\tX=" + b"x" * 300)
    manifest = bench.sent(cells(1), cells(2), files={"1.vcf": padded, "2.vcf": vcf(101)})
    assert (manifest.state, states(manifest)) == ("checking", ["pending", "valid"])
    intake = Intake.objects.get(filename="1.vcf")
    assert Message.objects.filter(topic=uploads.TOPIC, payload__intake=str(intake.pk), payload__large=True).count() == 1
    working.checking.intake_checking.check_intake(intake.pk)
    Manifest.objects.update(claimed_at=clock.now() - timedelta(minutes=1))
    assert claims.recover() == 1
    assert states(worked(manifest)) == ["valid", "valid"]


def test_a_manifest_that_cannot_be_read_is_refused_in_words(bench: Bench) -> None:
    manifest = worked(bench.send(b"mrn,priority\n1,stat\n", "a.csv"))
    assert (manifest.state, manifest.problems[0]["code"], ManifestRow.objects.count()) == ("refused", "manifest.column-missing", 0)
    assert "birth_date" in manifest.problems[0]["words"]


def test_more_rows_than_the_limit_are_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_ROWS", 2)
    assert bench.sent(cells(1), cells(2), cells(3)).problems[0]["code"] == "manifest.too-many-rows"


def test_a_row_names_provider_and_site_and_what_it_names_must_be_there(bench: Bench) -> None:
    provider = factories.make_provider(organisation=bench.hospital)
    rows = [
        cells(1, provider=provider.name, site="main", collected_at="2026-01-05 08:30"),
        cells(2, provider="", site=""),
        cells(3, provider="Dr Nobody", site="attic"),
    ]
    manifest = bench.sent(*rows)
    columns = {number: [column for column, _ in each] for number, each in said(manifest).items()}
    assert columns == {2: [], 3: ["provider"], 4: ["site", "provider"]}
    bench.place(manifest, valid_only=True)
    assert Order.objects.get().provider == provider


@pytest.mark.parametrize("what", ["the site closed", "its zone", "the provider gone"])
def test_a_row_whose_site_or_provider_changed_since_its_verdict_is_not_placed_as_something_else(bench: Bench, what: str) -> None:
    site = Site.objects.create(
        organisation=bench.hospital, code="ny", name="New York", address="1 Test Street", time_zone="America/New_York",
        created_at=clock.now(),
    )  # fmt: skip
    provider = factories.make_provider(bench.hospital, "Dr Rita Ordering")
    manifest = bench.sent(cells(1, site="ny", provider=provider.name), cells(2, site="", provider=provider.name, priority="urgent"))
    assert said(manifest) == {2: [], 3: []}
    if what == "the provider gone":
        Provider.objects.filter(pk=provider.pk).update(active=False)
    else:
        Site.objects.filter(pk=site.pk).update(**({"active": False} if what == "the site closed" else {"time_zone": "UTC"}))
    manifest = bench.place(manifest)
    first, *_ = said(manifest)[2]
    assert first == ("", "manifest.changed") and Order.objects.count() == (0 if what == "the provider gone" else 1)


def test_two_rows_with_one_number_are_told_at_checking_and_a_row_names_where_it_is_performed() -> None:
    bench = Bench()
    laboratory = bench.test.definition.laboratory
    site = Site.objects.create(organisation=laboratory, code="north", name="North", created_at=clock.now())
    rows = [
        cells(1, placer_number="N1", performing_site="NORTH"),
        cells(2, placer_number="N1"),
        cells(3, placer_number="N2", performing_site="south"),
    ]
    manifest = bench.sent(*rows)
    told = {2: [], 3: [("placer_number", "manifest.number-twice")], 4: [("performing_site", "manifest.performing-site")]}
    assert said(manifest) == told
    bench.place(manifest, valid_only=True)
    assert Order.objects.get().performing_site == site


def test_a_row_is_entered_late_with_its_true_times_read_by_the_clock_of_its_site() -> None:
    bench = Bench(Role.ACCESSIONER)
    director = factories.make_actor(role=Role.DIRECTOR, organisation=bench.test.definition.laboratory)
    began = clock.now() - timedelta(hours=30)
    downtime = records.open_downtime(
        actor=director, laboratory_id=bench.test.definition.laboratory_id, what="everything", words="moved", began_at=began
    )
    at = (clock.now() - timedelta(hours=3)).replace(second=0, microsecond=0)
    local = f"{at.astimezone(bench.hospital.zone):%Y-%m-%d %H:%M}"
    late = {"downtime": downtime.code, "requested_at": local, "taken_by": "Nurse Joy", "late_reason": "Unreachable"}
    rows = [cells(1, **late), cells(2, **{**late, "requested_at": "yesterday"}), cells(3, taken_by="Nurse Joy")]
    manifest = bench.sent(*rows)
    told = {row: {column for column, _ in objections} for row, objections in said(manifest).items()}
    assert told == {2: set(), 3: {"requested_at"}, 4: {"downtime", "requested_at", "late_reason"}}
    bench.place(manifest, valid_only=True)
    assert Order.objects.get().promised_at == at
