"""The worklist: what is pinned, filtered, found, said when nothing is there."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from accounts.roles import Role
from engine_queue.models import Job, Worker
from foundation import clock
from orders import services, worklist
from orders.filters import LABELS
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_actor
from tests.forging import forge
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward():
    return Ward()


def accessions(page):
    return re.findall(r"A\d\d-\d{6}(?=</a><small>)", page)


def turned(client, page, way):
    """The page that a button of this one leads to."""
    address = re.search(rf'id="page-{way}" href="([^"]+)"', page).group(1)
    return client.get(reverse("worklist") + address.replace("&amp;", "&")).content.decode()


def live_worker(ward):
    now = clock.now()
    Worker.objects.create(
        name="engine-1", kind="engine", incarnation="x", host="h", pid=1, deployments=[ward.test.deployment_id],
        started_at=now, seen_at=now, lease_until=now + timedelta(seconds=30),
    )  # fmt: skip


def test_stat_orders_stand_apart_and_the_least_time_left_comes_first(ward):
    later, sooner = ward.order(priority="stat"), ward.order(priority="stat")
    forge(sooner, result_due=clock.now())
    page = read(ward.analyst(), "worklist")
    assert "2 orders, never paged away" in page
    assert accessions(page) == [sooner.accession, later.accession]


def test_a_stat_order_stays_on_top_whatever_page_filter_or_search_is_asked_for(ward, monkeypatch):
    monkeypatch.setattr(worklist, "PAGE", 1)
    stat = ward.order(priority="stat")
    for _ in range(3):
        ward.order()
    client = ward.analyst()
    for query in ({"page": 3}, {"chip": "attention"}, {"q": "nobody of this name"}):
        assert accessions(read(client, "worklist", **query))[0] == stat.accession


def test_orders_follow_priority_and_then_due_time(ward):
    placed = {priority: ward.order(priority=priority) for priority in ("routine", "urgent", "asap")}
    found = accessions(read(ward.analyst(), "worklist"))
    assert found == [placed[priority].accession for priority in ("asap", "urgent", "routine")]


@pytest.mark.parametrize(
    ("chip", "change"),
    [
        ("running", {"state": "in_analysis"}), ("late", {"report_due": "past"}),
        ("attention", {"attention": "result.item-failed"}), ("open", {}),
    ],
)  # fmt: skip
def test_a_chip_lists_what_it_counts(ward, chip, change):
    ward.order()
    chosen = ward.order()
    values = {key: clock.now() - timedelta(minutes=1) if value == "past" else value for key, value in change.items()}
    forge(chosen, **values)
    page = read(ward.analyst(), "worklist", chip=chip)
    count = int(re.search(rf'id="chip-{chip}".*?<b>(\d+)</b>', page).group(1))
    assert count == len(accessions(page)) and chosen.accession in accessions(page)
    assert count == (2 if chip == "open" else 1)


def test_late_is_what_is_not_scored_and_a_scored_order_past_its_report_stands_apart(ward):
    slow, unsigned = ward.order(), ward.scored()
    past = clock.now() - timedelta(minutes=1)
    forge(slow, result_due=past)
    forge(unsigned, result_due=past, report_due=past)
    late, overdue = (read(ward.analyst(), "worklist", chip=chip) for chip in ("late", "unsigned"))
    assert accessions(late) == [slow.accession] and "Late<b>1</b>" in late and "not scored, and past" in late
    assert accessions(overdue) == [unsigned.accession] and "Report overdue<b>1</b>" in overdue
    assert "scored, but not issued past the time its report was due" in overdue


@pytest.mark.parametrize("text", ["77-4711", "mueller", "A{accession}"])
def test_search_finds_an_order_by_number_name_and_accession(ward, text):
    order = ward.order(patient=patient(mrn="77-4711", family_name="Mueller", given_name="Ann"))
    ward.order()
    page = read(ward.analyst(), "worklist", q=text.replace("A{accession}", order.accession))
    assert accessions(page) == [order.accession]


def test_an_order_shows_identifier_name_test_and_state_in_words(ward):
    order = ward.order(variants=5, patient=patient(mrn="88·1204"))
    page = read(ward.analyst(), "worklist")
    for words in (
        "MRN 88·1204",
        "Muster, Maria",
        "Isolate panel<small>5 variants · follow-up</small>",
        "Queued · 1st in line",
        "● </span> ROUTINE".replace(" </", "</"),
    ):
        assert words in page
    assert f'data-order="{order.pk}"' in page


def test_progress_is_a_bar_with_words(ward):
    order = ward.order(variants=8)
    Order.objects.filter(pk=order.pk).update(state="in_analysis", items_done=3, started_at=clock.now() - timedelta(seconds=30))
    page = read(ward.analyst(), "worklist")
    assert 'max="8" value="3"' in page and "Scoring · 3 of 8" in page and "<small>started</small>" in page


def test_a_late_order_says_by_how_much(ward):
    order = ward.order(priority="stat")
    forge(order, result_due=clock.now() - timedelta(seconds=200))
    page = read(ward.analyst(), "worklist")
    assert "▲ 3 min over" in page and 'role="timer"' in page


def test_a_closed_order_has_no_time_left(ward):
    order = ward.order()
    actor = make_actor(role="director", organisation=ward.laboratory)
    services.cancel(actor=actor, order=order, reason="twice", expected_edits=order.edits)
    page = read(ward.analyst(), "worklist", chip="done")
    assert order.accession in page and 'role="timer"' not in page


def test_work_without_a_worker_is_a_loud_state(ward):
    ward.order(priority="stat")
    jobs = Job.objects.count()
    page = read(ward.analyst(), "worklist")
    assert f"No engine worker serves {ward.test.deployment_id}: {jobs} job" in page and f"{jobs} of them STAT" in page
    live_worker(ward)
    assert "No engine worker serves" not in read(ward.analyst(), "worklist")


def test_the_system_line_names_workers_and_the_model_that_serves(ward):
    live_worker(ward)
    page = read(ward.analyst(), "worklist")
    assert "1 worker · idle" in page and "ecoli-orf-2k 1.0" in page


def test_a_requester_is_not_told_how_much_others_wait(ward):
    live_worker(ward)
    ward.order()
    page = read(ward.requester(), "worklist")
    assert "1 worker" in page and "waiting</span>" not in page


def test_the_place_in_the_line_does_not_tell_how_long_the_line_is(ward):
    first, others = ward.order(), Ward()
    others.test = ward.test
    others.order(priority="asap")
    others.order()
    page = read(ward.requester(), "worklist")
    assert accessions(page) == [first.accession] and "Queued · 2nd in line" in page and "of 3" not in page


def test_a_requester_sees_his_organisations_orders_with_progress(ward):
    order, other = ward.order(), Ward().order()
    page = read(ward.requester(), "worklist")
    assert accessions(page) == [order.accession] and other.accession not in page


def test_only_who_may_read_scores_is_pointed_to_results(ward):
    ward.scored()
    assert "See results" in read(ward.analyst(), "worklist")
    assert "See results" not in read(ward.requester(), "worklist")


@pytest.mark.parametrize(
    ("state", "role", "words", "address"),
    [
        ("awaiting_review", Role.REVIEWER, "Review", "order-review"),
        ("awaiting_second_review", Role.DIRECTOR, "Sign", "order-sign"),
        ("awaiting_second_review", Role.ANALYST, "See results", "order"),
    ],
)
def test_the_button_of_a_row_leads_to_the_next_step_of_who_reads_it(ward, state, role, words, address):
    order = ward.scored()
    forge(order, state=state)
    page = read(logged_in(role, ward.laboratory), "worklist")
    href = reverse(address, args=[order.pk]) + ("#results" if address == "order" else "")
    assert f'href="{href}" aria-label="{words}: {order.accession}"' in page


@pytest.mark.parametrize("chip", list(LABELS))
def test_an_empty_list_says_what_would_be_here_and_what_to_do(ward, chip):
    page = read(ward.analyst(), "worklist", chip=chip)
    assert 'class="empty"' in page
    assert ("Place an order" if chip == "open" else "Show all open orders") in page
    assert "No STAT orders" in page


def test_the_list_is_paged_and_says_where_it_stands(ward, monkeypatch):
    monkeypatch.setattr(worklist, "PAGE", 2)
    for _ in range(5):
        ward.order()
    client = ward.analyst()
    first = read(client, "worklist")
    second = turned(client, first, "after")
    assert "Orders 1–2 of 5" in first and "Orders 3–4 of 5" in second
    third = turned(client, second, "after")
    assert "Orders 5–5 of 5" in third and "page-after" not in third
    assert accessions(turned(client, third, "before")) == accessions(second)
    assert accessions(turned(client, turned(client, third, "before"), "before")) == accessions(first)
    assert len({*accessions(first), *accessions(second), *accessions(third)}) == 5


def test_filters_stay_in_the_address_that_is_read_again(ward):
    page = read(ward.analyst(), "worklist", chip="late", q="Mu ster&")
    assert f'hx-get="{reverse("worklist-live")}?chip=late&amp;q=Mu+ster%26"' in page


def test_names_and_reasons_are_text_and_never_markup(ward):
    evil = '<script>alert("1")</script>'
    ward.order(
        priority="stat",
        stat_reason=f"reason {evil}",
        indication=evil,
        patient=patient(mrn=f"m{evil}", family_name=evil, given_name="<img src=x>"),
    )
    page = read(ward.analyst(), "worklist", q=evil)
    assert "<script>alert" not in page and "<img src=x>" not in page and shown(evil, page)


def test_times_are_in_the_zone_of_the_readers_site():
    ward = Ward(time_zone="Asia/Kolkata")
    order = ward.order()
    page = read(ward.requester(), "worklist")
    due = order.result_due.astimezone(ward.hospital.zone)
    assert f"{due:%H:%M}</time>" in page and "Asia/Kolkata, IST, UTC+5:30" in page
    assert 'data-zone="Asia/Kolkata"' in page
