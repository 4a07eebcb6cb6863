"""Audit reports: what each kind says, that nothing of another laboratory is in it, and that the pack proves itself."""

import csv
import hashlib
import io
import zipfile
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.roles import Role
from accounts.services import actor_for
from audit import reads
from audit.models import Event
from foundation.errors import NotFound, NotPermitted, Refused
from inspection import claims, event_rows, making, selectors, services, signatures
from inspection.errors import InvalidAsked
from inspection.models import AuditReport
from interop.models import FhirOrder
from orders import merging
from orders.models import Order
from tests.dashboard.people import Ward, logged_in
from tests.factories import make_actor, make_user
from tests.orders.people import accessioner
from tests.reports import signers
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
TODAY = timezone.now().date().isoformat()
PERIOD = {"since": TODAY, "until": TODAY}


class House:
    """A laboratory with an auditor and an order, beside another laboratory with one of its own."""

    def __init__(self) -> None:
        self.ward, self.other = Ward(), Ward()
        self.auditor = make_user(role=Role.AUDITOR, organisation=self.ward.laboratory, name="Ada Auditor")
        self.actor = actor_for(self.auditor)
        self.order = self.ward.order(patient=patient(mrn="88·1204", family_name="Okafor", given_name="Ngozi"))
        self.theirs = self.other.order()

    def ask(self, kind: str, **typed: str) -> AuditReport:
        return services.ask(actor=self.actor, laboratory_id=self.ward.laboratory.pk, kind=kind, typed=typed)

    def made(self, kind: str, **typed: str) -> tuple[AuditReport, dict[str, list[list[str]]]]:
        """The report and its tables, read from the pack."""
        return self.finished(self.ask(kind, **typed))

    def finished(self, report: AuditReport) -> tuple[AuditReport, dict[str, list[list[str]]]]:
        assert making.make(report.pk)
        report = selectors.report_for(self.actor, report.pk)
        tables = [name for name in selectors.files(report) if name.endswith(".csv")]
        return report, {name: list(csv.reader(io.StringIO(read(report, name).decode()))) for name in tables}

    def look(self, order: Order, name: str) -> None:
        person = actor_for(make_user(role=Role.ANALYST, organisation=self.ward.laboratory, name=name))
        reads.seen(actor=person, action="order.viewed", obj=order, organisation_id=self.ward.laboratory.pk)


def read(report: AuditReport, name: str) -> bytes:
    return b"".join(selectors.content(report, name))


@pytest.fixture
def house() -> House:
    return House()


def test_an_order_has_every_event_of_it_and_who_looked(house):
    house.look(house.order, "Lou Looker")
    report, tables = house.made("order", order=house.order.accession.lower())
    assert report.state == "made" and report.subject == house.order.accession
    assert [row[0] for row in tables["people.csv"][1:]] == ["Lou Looker"]
    whole = Event.objects.filter(organisation_id=house.ward.laboratory.pk, object_id=str(house.order.pk))
    assert {str(pk) for pk in whole.values_list("pk", flat=True)} <= {row[-1] for row in tables["events.csv"][1:]}
    assert {row[6] for row in tables["events.csv"][1:] if row[5] == "order"} == {house.order.accession}


@pytest.mark.parametrize("number", ["88·1204", "accession"])
def test_who_saw_a_patient_is_everybody_who_looked_at_anything_of_his(house, number):
    for name in ("Lou Looker", "Max Looker"):
        house.look(house.order, name)
    _, tables = house.made("access", patient=house.order.accession if number == "accession" else number)
    assert {row[0] for row in tables["people.csv"][1:]} == {"Lou Looker", "Max Looker"}
    assert [row[4] for row in tables["looks.csv"][1:]] == ["Looked at the order"] * 2


def test_who_saw_a_patient_counts_his_record_what_came_by_fhir_and_reports_about_him(house):
    order, clerk = house.order, logged_in(Role.ACCESSIONER, house.ward.hospital)
    for name, pk in (("patient", order.patient_id), ("order-wrong-patient", order.pk)):
        assert clerk.get(reverse(name, args=[pk])).status_code == 200
    came = FhirOrder(pk=order.pk)  # it has the id of the order that came of it
    reads.seen(actor=house.actor, action="fhir.viewed", obj=came, organisation_id=house.ward.laboratory.pk)
    first, _ = house.made("access", patient=order.accession)
    services.looked(actor=house.actor, report=first)
    _, tables = house.made("access", patient=order.accession)
    looks = [
        "Looked at the record of the patient",
        "Looked at the order",
        "Looked at the request by FHIR",
        "Looked at an audit report",
    ]
    assert [row[4] for row in tables["looks.csv"][1:]] == looks
    for kind in ("order", "patient"):
        _, tables = house.made(kind, **{kind: order.accession})
        assert set(looks) <= {row[4] for row in tables["events.csv"][1:]}


def test_a_record_that_was_merged_before_its_report_was_made_keeps_its_orders_and_looks(house):
    house.look(house.order, "Lou Looker")
    report, survivor = house.ask("access", patient=house.order.accession), house.ward.order()
    into = {"survivor": survivor.patient, "merged": house.order.patient, "words": "same person", "expected": (1, 1)}
    merging.merge(actor=accessioner(survivor), **into)
    report, tables = house.finished(report)
    assert f"{house.order.accession}, {survivor.accession}" in str(report.shown["facts"])
    assert [row[0] for row in tables["people.csv"][1:]] == ["Lou Looker"]


def test_a_person_and_a_period_are_this_laboratorys_alone(house):
    placed_by = house.order.placed_by
    _, tables = house.made("person", person=placed_by.email, **PERIOD)
    assert tables["events.csv"][1:] and {row[2] for row in tables["events.csv"][1:]} == {placed_by.name}
    _, tables = house.made("period", **PERIOD)
    ids = {int(row[-1]) for row in tables["events.csv"][1:]}
    assert set(Event.objects.filter(pk__in=ids).values_list("organisation_id", flat=True)) == {house.ward.laboratory.pk}
    assert house.theirs.accession not in str(tables)


def test_a_model_version_names_its_runs_and_the_reports_that_rest_on_them(house):
    scored = house.ward.scored(variants=2)
    run = scored.intake.item_set.run_set.get()
    report, tables = house.made("model", model=str(run.model_version), **PERIOD)
    rows = {row[0]: row for row in tables["runs.csv"][1:]}
    assert set(rows) == {house.order.accession, scored.accession} and rows[scored.accession][9] == "2 of 2"
    assert run.model_version.weights_sha256 in str(report.shown["facts"])


def test_turnaround_lists_orders_with_their_times_and_whether_they_were_kept(house):
    scored = house.ward.scored(variants=2)
    _, tables = house.made("turnaround", **PERIOD)
    rows = {row[0]: row for row in tables["orders.csv"][1:]}
    assert set(rows) == {house.order.accession, scored.accession}
    assert rows[scored.accession][11] == "yes" and rows[house.order.accession][7] == ""


def test_signatures_are_listed_and_held_against_what_they_stand_under(monkeypatch):
    order = signers.scored(signers=2)
    lab = signers.laboratory_of(order)
    version = signers.issued(order, lab)
    auditor = make_actor(role=Role.AUDITOR, organisation=order.performing_laboratory)

    def rows():
        report = services.ask(actor=auditor, laboratory_id=order.performing_laboratory_id, kind="signatures", typed=PERIOD)
        assert making.make(report.pk)
        text = read(selectors.report_for(auditor, report.pk), "signatures.csv").decode()
        return [row[:6] + row[9:10] for row in csv.reader(io.StringIO(text))][1:]

    signed = [order.accession, str(version.number), "study report", "released"]
    assert rows() == [[*signed, "review", "Reviewer", "yes"], [*signed, "approval", "Laboratory director", "yes"]]
    monkeypatch.setattr(signatures, "sha256", lambda content: hashlib.sha256(content + b" "))  # as if it were changed
    assert [row[-1] for row in rows()] == ["NO", "NO"]


def test_the_pack_proves_its_files_and_no_cell_is_computed_by_a_spreadsheet(house):
    make_user(role=Role.ANALYST, organisation=house.ward.laboratory, name="=cmd|x")
    evil = actor_for(make_user(role=Role.ANALYST, organisation=house.ward.laboratory, name="=2+3"))
    reads.seen(actor=evil, action="order.viewed", obj=house.order, organisation_id=house.ward.laboratory.pk)
    report, tables = house.made("order", order=house.order.accession)
    with zipfile.ZipFile(io.BytesIO(b"".join(selectors.whole(report)))) as pack:
        for line in pack.read("SHA256SUMS").decode().splitlines():
            digest, name = line.split("  ")
            assert hashlib.sha256(pack.read(name)).hexdigest() == digest
        assert {"SHA256SUMS", "report.pdf", "people.csv", "events.csv"} <= set(pack.namelist())
        assert pack.read("report.pdf").startswith(b"%PDF")
    assert tables["people.csv"][1][0] == "'=2+3"


@pytest.mark.parametrize(
    ("kind", "typed", "field"),
    [
        ("order", {"order": "A26-999999"}, "order"),
        ("order", {}, "order"),
        ("patient", {"patient": "nobody"}, "patient"),
        ("person", {"person": "nobody@example.org", **PERIOD}, "person"),
        ("model", {"model": "none 1", **PERIOD}, "model"),
        ("period", {"since": "yesterday", "until": TODAY}, "since"),
        ("period", {"since": TODAY, "until": "2020-01-01"}, "until"),
        ("period", {"since": "2020-01-01", "until": TODAY}, "until"),
        ("period", {"since": "2999-01-01", "until": "2999-01-01"}, "since"),
        ("period", {"since": "0001-01-01", "until": "0001-01-02"}, "since"),
        ("nothing", {}, "kind"),
    ],
)
def test_what_cannot_be_made_is_refused_field_by_field(house, kind, typed, field):
    with pytest.raises(InvalidAsked) as refused:
        house.ask(kind, **typed)
    assert list(refused.value.fields) == [field] and not AuditReport.objects.exists()


def test_another_laboratorys_order_and_report_do_not_exist(house):
    with pytest.raises(InvalidAsked):
        house.ask("order", order=house.theirs.accession)
    report = house.ask("period", **PERIOD)
    stranger = make_actor(role=Role.AUDITOR, organisation=house.other.laboratory)
    with pytest.raises(NotFound):
        selectors.report_for(stranger, report.pk)
    with pytest.raises(NotPermitted):
        services.ask(actor=stranger, laboratory_id=house.ward.laboratory.pk, kind="period", typed=PERIOD)
    with pytest.raises(NotPermitted):
        services.withdraw(actor=stranger, report=report)


def test_a_worker_that_died_is_replaced_and_the_third_death_ends_it(house):
    report = house.ask("period", **PERIOD)
    for tries in (1, 2, 3):
        assert claims.take(report.pk) is not None and claims.take(report.pk) is None
        assert claims.recover() == 0  # it works
        AuditReport.objects.update(claimed_at=timezone.now() - claims.STALLED - timedelta(seconds=1))
        assert claims.recover() == 1
        report.refresh_from_db()
        assert report.state == ("failed" if tries == 3 else "queued")
    assert report.ended_at is not None and not making.make(report.pk)


def test_who_lost_his_claim_writes_nothing(house, monkeypatch):
    report = house.ask("period", **PERIOD)
    packed = making.storage.write

    def withdrawn_meanwhile(**named):
        services.withdraw(actor=house.actor, report=report)
        return packed(**named)

    monkeypatch.setattr(making.storage, "write", withdrawn_meanwhile)
    assert not making.make(report.pk)
    report.refresh_from_db()
    assert report.state == "withdrawn" and report.pack is None


def test_a_laboratory_has_five_under_way_and_is_told_of_a_sixth(house):
    for _ in range(services.MOST_WAITING):
        house.ask("period", **PERIOD)
    with pytest.raises(Refused, match="Ask again when one of them is there"):
        house.ask("period", **PERIOD)


def test_events_are_read_page_by_page(house, monkeypatch, django_assert_max_num_queries):
    monkeypatch.setattr(event_rows, "PAGE", 3)
    events = Event.objects.filter(organisation_id=house.ward.laboratory.pk)
    count = events.count()
    with django_assert_max_num_queries(2 + 2 * (count // 3 + 1)):
        rows = list(event_rows.rows(events, house.ward.laboratory.zone))
    assert [int(row[-1]) for row in rows] == sorted(events.values_list("pk", flat=True))
