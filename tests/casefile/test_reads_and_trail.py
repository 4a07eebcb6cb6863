"""Who looked at a patient is an event, once in ten minutes; the audit tab shows every event of an order to those who may."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.roles import Role
from audit import reads
from audit import services as audit
from audit.models import Event
from casefile import comments
from foundation import clock
from foundation.actor import process
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_actor
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward():
    return Ward(time_zone="Europe/Berlin")


def seen(action="order.viewed"):
    return Event.objects.filter(action=action).count()


def director(ward):
    return logged_in(Role.DIRECTOR, ward.laboratory)


def test_looking_again_and_again_is_one_event_in_ten_minutes(ward, monkeypatch):
    order, client, start = ward.order(), ward.analyst(), clock.now()
    for minutes, events in ((0, 1), (5, 1), (9, 1), (10, 2), (19, 2), (20, 3)):
        monkeypatch.setattr(clock, "_source", lambda minutes=minutes: start + timedelta(minutes=minutes))
        read(client, "order", order.pk)
        read(client, "order-live", order.pk)
        assert seen() == events, minutes


def test_a_look_by_a_clock_that_ran_ahead_hides_none_of_later(ward, monkeypatch):
    order, client, source = ward.order(), ward.analyst(), clock._source
    monkeypatch.setattr(clock, "_source", lambda: source() + timedelta(days=1))
    read(client, "order", order.pk)
    monkeypatch.setattr(clock, "_source", source)
    read(client, "order", order.pk)
    assert seen() == 2


def test_another_person_or_another_order_is_another_look(ward):
    orders, clients = [ward.order(), ward.order()], [ward.analyst(), ward.requester()]
    for order in orders:
        for client in clients:
            read(client, "order", order.pk)
    assert seen() == 4


def test_a_stranger_leaves_no_look_and_a_process_neither(ward):
    order = ward.order()
    assert logged_in(Role.ANALYST, Ward().laboratory).get(reverse("order", args=[order.pk])).status_code == 404
    reads.seen(actor=process("sweeper"), action="order.viewed", obj=order, organisation_id=order.performing_laboratory_id)
    assert seen() == 0


def test_a_report_and_its_files_are_looked_at(ward):
    order, client = ward.scored(), ward.analyst()
    for name in ("report-page", "order-results.csv", "order-results.csv"):
        client.get(reverse(name, args=[order.pk]))
    assert (seen("report.viewed"), seen("results.exported")) == (1, 2)  # every export counts
    assert Event.objects.get(action="report.viewed").facts["order"] == str(order.pk)


def test_an_upload_is_looked_at_by_others_than_who_sent_it(ward):
    order = ward.order()
    read(ward.analyst(), "intake", order.intake_id)
    assert seen("intake.viewed") == 1


def test_the_trail_holds_order_input_run_jobs_comments_and_who_looked(ward):
    order = ward.order()
    comments.add(actor=make_actor(role=Role.ANALYST, organisation=ward.laboratory), order=order, text="clotted", internal=True)
    read(ward.analyst(), "order", order.pk)
    page = read(director(ward), "order-audit", order.pk)
    for words in ("Order placed", "Run created", "Comment added", "Looked at the order", "page, 127.0.0.1", "not recorded"):
        assert words in page, words
    assert "clotted" not in page
    assert "Looked at the order" not in read(director(ward), "order-audit", order.pk, part="papers")
    assert "Comment added" in read(director(ward), "order-audit", order.pk, part="papers")


def test_who_looked_counts_every_order_of_the_patient(ward):
    orders, client = [ward.order(patient=patient()) for _ in range(2)], ward.analyst()
    for order in orders:
        read(client, "order", order.pk)
    assert orders[0].patient_id == orders[1].patient_id
    name = Event.objects.filter(action="order.viewed").latest("id").actor_name
    page = read(director(ward), "order-audit", orders[1].pk)
    looks = page[page.index("Who looked at this patient") : page.index("Parts of the trail")]
    assert name in looks and 'data-label="Looks">2</td>' in looks


def test_events_of_other_orders_are_not_in_it(ward):
    order, other = ward.order(), ward.order()
    rows = list(csv.reader(io.StringIO(director(ward).get(reverse("order-audit.csv", args=[order.pk])).content.decode())))
    assert rows[0][0] == "time (UTC)" and len(rows) > 4
    assert not any(str(other.pk) in cell for row in rows for cell in row)
    assert rows[1][1].endswith(("CET", "CEST", "UTC")) and seen("audit.exported") == 1


def test_a_cell_that_a_spreadsheet_would_compute_is_text(ward):
    order = ward.order()
    with transaction.atomic():
        audit.record(actor=process("=cmd()"), action="order.attention", obj=order, organisation_id=order.performing_laboratory_id)
    assert "'=cmd()" in director(ward).get(reverse("order-audit.csv", args=[order.pk])).content.decode()


@pytest.mark.parametrize(
    ("role", "side", "status"),
    [
        (Role.DIRECTOR, "laboratory", 200),
        (Role.AUDITOR, "laboratory", 200),
        (Role.ANALYST, "laboratory", 403),
        (Role.REQUESTER, "hospital", 403),
        (Role.DIRECTOR, "hospital", 403),  # he sees the order; its trail is the laboratory's
        (Role.AUDITOR, "hospital", 404),
        (Role.DIRECTOR, "stranger", 404),
    ],
)
def test_the_trail_is_for_auditors_of_the_laboratory(ward, role, side, status):
    order, sides = ward.order(), {"laboratory": ward.laboratory, "hospital": ward.hospital, "stranger": Ward().laboratory}
    client = logged_in(role, sides[side])
    for name in ("order-audit", "order-audit.csv"):
        assert client.get(reverse(name, args=[order.pk])).status_code == status


def test_looking_at_the_trail_is_an_event_too(ward):
    read(director(ward), "order-audit", ward.order().pk)
    assert seen("audit.viewed") == 1


@pytest.mark.parametrize("page", ["2", "0", "-1", "9999999999", "x"])
def test_an_odd_page_number_is_some_page(ward, page):
    assert "Order placed" in read(director(ward), "order-audit", ward.order().pk, page=page)


def test_more_events_take_no_more_queries(ward):
    order, client = ward.order(), director(ward)
    read(client, "order-audit", order.pk)

    def asked():
        with CaptureQueriesContext(connection) as queries:
            read(client, "order-audit", order.pk)
        return len(queries)

    before = asked()
    author = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    for n in range(5):
        comments.add(actor=author, order=order, text=f"comment {n}", internal=True)
    assert asked() == before


def test_an_auditor_finds_an_order_by_its_number_and_is_led_to_no_page_that_is_closed_to_him(ward):
    order, auditor = ward.order(), logged_in(Role.AUDITOR, ward.laboratory)
    assert f'href="{reverse("audit")}"' in read(auditor, "worklist")
    found = auditor.get(reverse("audit"), {"order": f" {order.accession.lower()} "})
    assert found["Location"] == reverse("order-audit", args=[order.pk])
    page = read(auditor, "order-audit", order.pk)
    assert f'href="{reverse("order", args=[order.pk])}"' not in page and f'href="{reverse("audit")}"' in page
    assert f'href="{reverse("order", args=[order.pk])}"' in read(director(ward), "order-audit", order.pk)
    stranger = logged_in(Role.AUDITOR, Ward().laboratory)
    for client, said in ((auditor, "A99-1"), (stranger, order.accession), (auditor, "\0")):
        assert "audit trail</button>" in client.get(reverse("audit"), {"order": said}).content.decode()


def test_facts_are_words_and_what_only_names_rows_stands_behind_a_fold(ward):
    order = ward.order(priority="stat", stat_reason="")
    page = read(director(ward), "order-audit", order.pk)
    assert "before submitted, now accepted" in page and "STAT without a reason" in page
    facts = re.findall(r'data-label="Facts" class="break"><small>([^<]*)</small>', page)
    assert facts and not any(re.search(r"[0-9a-f]{8}-[0-9a-f]{4}|in_analysis|True|stat\.reason", said) for said in facts)
    assert str(order.intake_id) in page  # in the fold
    rows = director(ward).get(reverse("order-audit.csv", args=[order.pk])).content.decode()
    assert str(order.intake_id) in rows and "stat.reason-missing" in rows
