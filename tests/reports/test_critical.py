"""A critical result: marked by a person with a reason, called until somebody has read it back; every call stays."""

import csv
import io
from datetime import timedelta

import pytest
from django.db import Error, transaction
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted
from inspection import making
from inspection import selectors as inspected
from inspection import services as inspection
from notices.models import Delivery as Sent
from notices.models import Receipt
from orders.downtimes import records
from orders.errors import InvalidOrder
from outbox import services as outbox
from reports import critical, critical_notices
from reports.models import Critical, CriticalCall
from tests.dashboard.people import logged_in, read
from tests.factories import make_actor, make_organisation, make_provider
from tests.forging import forge
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    made = signers.scored()
    by = make_provider(made.ordering_organisation, "Dr Called", phone="+49 1", alternative="ward 3, +49 2")
    forge(made, provider=by, provider_name=by.name, provider_contact="+49 0")
    return cases.read(made)


@pytest.fixture
def lab(order):
    return signers.laboratory_of(order)


@pytest.fixture
def marked(order, lab) -> Critical:
    return critical.mark(order=order, actor=lab.actor(Role.REVIEWER), reason="Truncates the protein.", ordinal=0)


def called(marked, lab, outcome="not_reached", role=Role.ANALYST, **said) -> CriticalCall:
    values = {"whom": "Dr Called", "number": "+49 1", "read_back": "", "called_at": clock.now(), **said}
    return critical.call(critical=marked, actor=lab.actor(role), outcome=outcome, **values)


def test_only_a_call_that_was_read_back_closes_it_and_all_attempts_stay(marked, lab, order):
    for outcome in ("not_reached", "refused"):
        called(marked, lab, outcome)
        marked.refresh_from_db()
        assert marked.state == "open" and critical.open_ones(lab.actor(Role.ANALYST)) == [marked]
    with pytest.raises(InvalidOrder) as wrong:
        called(marked, lab, "read_back")
    assert set(wrong.value.fields) == {"read_back"}
    called(marked, lab, "read_back", read_back="result one truncates the protein")
    marked.refresh_from_db()
    assert (marked.state, marked.calls.count(), critical.open_ones(lab.actor(Role.ANALYST))) == ("read_back", 3, [])
    with pytest.raises(critical.ReadBack):
        called(marked, lab)
    events = list(Event.objects.filter(object_id=str(marked.pk)).order_by("id").values_list("action", flat=True))
    assert events == ["critical.marked", "critical.called", "critical.called", "state.read_back", "critical.called"]
    assert "truncates" not in str(list(Event.objects.values_list("facts", flat=True)))


def test_a_call_in_a_downtime_is_a_line_to_reconcile_and_one_outside_of_it_is_none(marked, lab, order):
    begin = {"laboratory_id": order.performing_laboratory_id, "what": "pages", "words": "moved", "began_at": marked.marked_at}
    downtime = records.open_downtime(actor=lab.actor(Role.DIRECTOR), **begin)
    called(marked, lab)
    line = downtime.lines.get(kind="told")
    assert (line.order, line.words, line.added_by) == (order, "Called with the critical result: Dr Called, not reached", None)
    records.end(actor=lab.actor(Role.DIRECTOR), downtime=downtime, ended_at=clock.now())
    called(marked, lab)
    assert downtime.lines.filter(kind="told").count() == 1


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.ACCESSIONER, Role.ANALYST, Role.SERVICE, Role.AUDITOR])
def test_nobody_but_reviewers_and_directors_marks_and_never_without_a_reason(order, lab, role):
    with pytest.raises(NotPermitted):
        critical.mark(order=order, actor=lab.actor(role), reason="x")
    with pytest.raises(InvalidOrder):
        critical.mark(order=order, actor=lab.actor(Role.DIRECTOR), reason=" ")
    with pytest.raises(InvalidOrder):
        critical.mark(order=order, actor=lab.actor(Role.DIRECTOR), reason="x", ordinal=9)
    with pytest.raises(NotPermitted):
        critical.mark(order=order, actor=make_actor(role=Role.DIRECTOR, organisation=make_organisation()), reason="x")


def test_no_score_marks_anything_and_no_report_waits_for_the_call(order, lab, marked):
    assert signers.issued(order, lab).state == "released"
    other = cases.scored_order(delta=lambda n: -1e9)
    signers.issued(other, signers.laboratory_of(other))
    assert Critical.objects.count() == 1


def test_one_open_call_for_a_result_and_its_fields_are_looked_at(marked, lab, order):
    with pytest.raises(critical.MarkedAlready):
        critical.mark(order=order, actor=lab.actor(Role.DIRECTOR), reason="again", ordinal=0)
    critical.mark(order=order, actor=lab.actor(Role.DIRECTOR), reason="all of it")
    with pytest.raises(InvalidOrder) as wrong:
        called(marked, lab, "perhaps", whom="", number="", called_at=clock.now() + timedelta(hours=1))
    assert set(wrong.value.fields) == {"whom", "number", "outcome", "called_at"}
    with pytest.raises(NotPermitted):
        called(marked, lab, role=Role.REQUESTER)


def test_the_database_closes_nothing_without_a_read_back_and_keeps_every_attempt(marked, lab):
    call = called(marked, lab)
    tries = [
        lambda: Critical.objects.filter(pk=marked.pk).update(state="read_back", closed_at=clock.now()),
        lambda: Critical.objects.filter(pk=marked.pk).update(reason="other"),
        lambda: CriticalCall.objects.filter(pk=call.pk).update(outcome="read_back", read_back="x"),
        lambda: CriticalCall.objects.filter(pk=call.pk).delete(),
        lambda: Critical.objects.filter(pk=marked.pk)._raw_delete("default"),
    ]
    for number, attempt in enumerate(tries):
        with pytest.raises(Error), transaction.atomic():
            attempt()
            pytest.fail(f"the database allowed {number}")


def test_it_stands_on_the_worklist_with_whom_to_call_and_the_page_keeps_the_call(order, lab, marked):
    client = logged_in(Role.ACCESSIONER, order.performing_laboratory)
    page = read(client, "worklist")
    assert "1 critical result to call" in page and "Dr Called, +49 1; otherwise ward 3, +49 2" in page
    shown = read(client, "order-critical", order.pk)
    assert "Dr Called, as the order said" in shown and "Truncates the protein." in shown
    said = {
        "do": "call",
        "critical": str(marked.pk),
        "whom": "Dr Called",
        "number": "+49 1",
        "outcome": "read_back",
        "read_back": "ok",
    }
    address = reverse("order-critical", args=[order.pk])
    assert client.post(address, said).status_code == 409  # no time
    said["called_at"] = f"{clock.now():%Y-%m-%dT%H:%M}"
    assert client.post(address, said).status_code == 302
    assert "to call" not in read(client, "worklist")
    director = logged_in(Role.DIRECTOR, order.performing_laboratory)
    signers.issued(order, lab)
    assert all("“ok”" in read(director, name, order.pk) for name in ("order", "report-page"))
    assert "Called with the critical result" in read(director, "order-audit", order.pk)


def test_who_may_not_see_scores_is_told_of_no_mark_before_the_release(order, lab, marked):
    ward = logged_in(Role.REQUESTER, order.ordering_organisation)
    assert ward.get(reverse("order-critical", args=[order.pk])).status_code == 403
    assert "Truncates" not in read(ward, "order", order.pk) and "critical result to call" not in read(ward, "worklist")
    signers.issued(order, lab)
    assert "Truncates" in read(ward, "order", order.pk)
    stranger = logged_in(Role.DIRECTOR, make_organisation())
    assert stranger.get(reverse("order-critical", args=[order.pk])).status_code == 404


def test_while_it_is_open_more_people_are_told_and_each_level_once(marked, lab, monkeypatch, settings):
    settings.EMAIL_HOST = "127.0.0.1"
    analyst, director = lab.user(Role.ANALYST), lab.user(Role.DIRECTOR)
    told = []
    for minutes in (14, 15, 16, 24, 30, 60):
        at = marked.marked_at + timedelta(minutes=minutes)
        monkeypatch.setattr(clock, "_source", lambda at=at: at)
        told.append(critical_notices.sweep())
        outbox.dispatch()
    assert told == [0, 1, 0, 1, 1, 0]
    assert list(marked.levels.order_by("level").values_list("level", flat=True)) == [50, 80, 100]
    assert [Receipt.objects.filter(user=user).count() for user in (marked.marked_by, analyst, director)] == [3, 2, 2]
    assert [mail.user for mail in Sent.objects.all()] == [director]


@pytest.mark.parametrize("kind", ["order", "patient"])
def test_audit_reports_of_order_and_patient_tell_deliveries_and_calls_in_words(order, lab, marked, kind):
    called(marked, lab, "read_back", read_back="ok")
    signers.issued(order, lab)
    asked = inspection.ask(
        actor=lab.actor(Role.DIRECTOR), laboratory_id=order.performing_laboratory_id, kind=kind, typed={kind: order.accession}
    )
    assert making.make(asked.pk)
    kept = inspected.report_for(lab.actor(Role.DIRECTOR), asked.pk)
    rows = list(csv.reader(io.StringIO(b"".join(inspected.content(kept, "events.csv")).decode())))
    said = {(row[4], row[5], row[6]) for row in rows}
    assert {
        ("Report is to be delivered", "delivery", order.accession),
        ("Marked as critical", "critical result", order.accession),
        ("Called with the critical result", "critical result", order.accession),
    } <= said
    assert any("whom Dr Called" in row[8] for row in rows)
