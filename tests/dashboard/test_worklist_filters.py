"""Filters in the address: what they let through, what is said of those that mean nothing, and that none shows more than before."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from accounts.models import Site
from accounts.roles import Role
from audit.models import Event
from dashboard import saved_filters
from dashboard.models import SavedFilter
from foundation import clock
from orders import assignment
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.dashboard.test_worklist import accessions
from tests.factories import make_actor, make_order, make_ready_intake, make_test_version
from tests.forging import forge

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


def change(order: Order, **columns: object) -> Order:
    forge(order, **columns)
    return order


def test_each_filter_lets_through_what_it_says_and_is_a_chip_that_goes_away(ward: Ward) -> None:
    client, plain = ward.analyst(), ward.order()
    other_test = make_test_version(laboratory=ward.laboratory)
    tower = Site.objects.create(organisation=ward.laboratory, code="tower", name="Tower", created_at=clock.now())
    intake = make_ready_intake(test_version=other_test, organisation=ward.laboratory)
    own = make_order(intake=intake, priority="asap", performing_site_id=tower.pk)
    change(own, state="in_analysis")
    assignment.take(order=own, actor=make_actor(role=Role.ANALYST, organisation=ward.laboratory), expected_edits=1)
    filters = {
        "priority": "asap", "state": "in_analysis", "test": str(other_test.definition_id), "organisation": str(ward.laboratory.pk),
        "site": str(tower.pk),
        "assignee": str(Order.objects.get(pk=own.pk).assignee_id), "placed_from": f"{clock.now():%Y-%m-%d}",
    }  # fmt: skip
    for name, value in filters.items():
        page = read(client, "worklist", **{name: value})
        assert own.accession in accessions(page) and f'id="without-{name}"' in page, name
        assert name == "placed_from" or plain.accession not in page, name
    whole = read(client, "worklist", **filters)
    assert accessions(whole) == [own.accession] and "All open<b>1</b>" in whole
    without = re.search(r'id="without-priority" href="[^?]*\?([^"]+)"', whole)
    assert without and parse_qs(without[1].replace("&amp;", "&")).keys() == filters.keys() - {"priority"}
    assert 'id="clear-all"' in whole and plain.accession in read(client, "worklist", chip="open")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("chip", "everything", "there is no such choice"), ("priority", "asap' OR 1=1", "there is no such choice"),
        ("state", "draft", "no such choice"), ("test", "not-an-id", "no such choice"), ("q", "a", "at least 2 characters"),
        ("q", "x" * 81, "at most 80"), ("assignee", "somebody", "no such person"), ("placed_from", "1.1.26", "2026-01-3"),
        ("due_to", "9999-12-31", "2026-01-31"), ("due_from", "20260131", "2026-01-31"), ("sort", "beauty", "no such choice"),
    ],
)  # fmt: skip
def test_a_value_that_means_nothing_is_told_and_ignored(ward: Ward, name: str, value: str, why: str) -> None:
    order = ward.order()
    page = read(ward.analyst(), "worklist", **{name: value})
    assert 'id="ignored"' in page and shown(value[:40], page) and why in page and accessions(page) == [order.accession]
    assert f'id="without-{name}"' not in page


def test_a_period_that_ends_before_it_begins_and_a_page_that_is_none_are_told(ward: Ward) -> None:
    ward.order()
    page = read(ward.analyst(), "worklist", placed_from="2026-02-01", placed_to="2026-01-31", at="3~x~>~1")
    assert "it ends before it begins" in page and "from its beginning" in page and "All open<b>1</b>" in page


@pytest.mark.parametrize(
    "filters", [{"organisation": "own"}, {"test": "own"}, {"assignee": "own"}, {"chip": "open"}, {"at": "own"}]
)
def test_no_filter_and_no_filter_taken_away_shows_what_belongs_to_others(ward: Ward, filters: dict[str, str]) -> None:
    stranger = ward.order()
    worker = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    assignment.take(order=stranger, actor=worker, expected_edits=1)
    own = {
        "organisation": str(ward.hospital.pk), "test": str(ward.test.definition_id), "assignee": str(worker.id),
        "at": f"0~0~0~{stranger.pk}~>~1",
    }  # fmt: skip
    elsewhere = Ward()
    mine, client = elsewhere.order(), elsewhere.analyst()
    page = read(client, "worklist", **{name: own[name] if value == "own" else value for name, value in filters.items()})
    assert stranger.accession not in page and worker.name not in page
    for address in re.findall(r'href="(/\?[^"]*)"', page):
        assert stranger.accession not in client.get(address.replace("&amp;", "&")).content.decode()
    assert mine.accession in read(client, "worklist", chip="open")


@pytest.mark.parametrize(
    ("zone", "day", "begins", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", datetime(2026, 3, 28, 23, tzinfo=UTC), 23),
        ("Europe/Berlin", "2026-10-25", datetime(2026, 10, 24, 22, tzinfo=UTC), 25),
        ("Asia/Kolkata", "2026-03-29", datetime(2026, 3, 28, 18, 30, tzinfo=UTC), 24),
    ],
)
def test_a_day_begins_and_ends_at_the_sites_midnight_also_when_the_clocks_change(zone, day, begins, hours) -> None:
    ward = Ward(time_zone=zone)
    client, ends, moment = ward.requester(), begins + timedelta(hours=hours), timedelta(microseconds=1)
    inside = [change(ward.order(), result_due=due) for due in (begins, ends - moment)]
    for due in (begins - moment, ends):
        change(ward.order(), result_due=due)
    page = read(client, "worklist", due_from=day, due_to=day)
    assert sorted(accessions(page)) == sorted(order.accession for order in inside)


def test_the_list_is_sorted_by_urgency_due_time_or_time_of_placing(ward: Ward) -> None:
    urgent, early, late = ward.order(priority="asap"), ward.order(), ward.order()
    now = clock.now()
    for order, hours in ((urgent, 30), (early, 1), (late, 90)):
        change(order, result_due=now + timedelta(hours=hours), report_due=now + timedelta(hours=hours))
    client = ward.analyst()
    found = {sort: accessions(read(client, "worklist", sort=sort)) for sort in ("", "due", "placed")}
    assert found[""] == [order.accession for order in (urgent, early, late)]
    assert found["due"] == [order.accession for order in (early, urgent, late)]
    assert found["placed"] == [order.accession for order in (late, early, urgent)]


def keep(client, name: str, query: str, **flags: str):
    data = {"do": "save", "name": name, "query": query, **flags}
    return client.post(reverse("worklist-filters"), data)


def test_a_filter_is_kept_opens_the_list_is_renamed_and_deleted(ward: Ward) -> None:
    client = ward.analyst()
    response = keep(client, "Late routine", "chip=late&priority=routine&page=7&evil=1", opens="yes")
    assert parse_qs(urlsplit(response["Location"]).query) == {"chip": ["late"], "priority": ["routine"]}
    made = SavedFilter.objects.get()
    assert client.get(reverse("worklist"))["Location"] == "/?chip=late&priority=routine"
    assert f'id="saved-{made.pk}"' in read(client, "worklist", chip="open")
    client.post(reverse("worklist-filters"), {"do": "rename", "filter": made.pk, "name": "Slow"})
    assert "Slow" in read(client, "worklist-filters")
    client.post(reverse("worklist-filters"), {"do": "close", "filter": made.pk})
    assert client.get(reverse("worklist")).status_code == 200
    client.post(reverse("worklist-filters"), {"do": "delete", "filter": made.pk})
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize(("name", "words"), [(" ", "at most 60"), ("x" * 61, "at most 60"), ("twice", "already")])
def test_a_name_that_is_none_or_taken_is_refused_in_words(ward: Ward, name: str, words: str) -> None:
    client = ward.analyst()
    keep(client, "Twice", "chip=late")
    response = keep(client, name, "chip=hold")
    assert response.status_code == 409 and words in response.content.decode() and SavedFilter.objects.count() == 1


def test_a_shared_filter_is_the_laboratorys_and_a_personal_one_is_nobody_elses(ward: Ward) -> None:
    owner, colleague, stranger, requester = ward.analyst(), ward.analyst(), Ward().analyst(), ward.requester()
    keep(owner, "Ours", "chip=late", shared="yes")
    keep(owner, "Mine", "chip=hold")
    ours, mine = SavedFilter.objects.order_by("pk")
    pages = {one: read(one, "worklist-filters") for one in (owner, colleague, stranger, requester)}
    assert [("Ours" in page, "Mine" in page) for page in pages.values()] == [
        (True, True),
        (True, False),
        (False, False),
        (False, False),
    ]
    for one, pk in ((stranger, ours.pk), (stranger, mine.pk), (colleague, mine.pk), (requester, ours.pk)):
        for do in ("rename", "delete", "open"):
            assert one.post(reverse("worklist-filters"), {"do": do, "filter": pk, "name": "x"}).status_code == 404
    assert keep(requester, "Theirs", "chip=late", shared="yes").status_code == 409
    for deed in ({"do": "rename", "name": "Everybody’s"}, {"do": "delete"}):
        assert colleague.post(reverse("worklist-filters"), {**deed, "filter": ours.pk}).status_code == 302
    owner.post(reverse("worklist-filters"), {"do": "delete", "filter": mine.pk})
    events = Event.objects.filter(object_type="dashboard.savedfilter").order_by("id")
    assert [(one.action, one.object_id) for one in events] == [
        (f"filter.{deed}", str(ours.pk)) for deed in ("shared", "renamed", "deleted")
    ]
    assert len({one.actor_id for one in events}) == 2 and {tuple(one.facts) for one in events} == {("owner",)}


def test_a_list_that_opened_with_a_shared_filter_opens_as_before_when_its_person_leaves_or_it_goes(ward: Ward) -> None:
    owner, other = ward.analyst(), logged_in(Role.REVIEWER, ward.laboratory)
    keep(owner, "Ours", "chip=late", shared="yes")
    pk = SavedFilter.objects.get().pk
    other.post(reverse("worklist-filters"), {"do": "open", "filter": pk})
    assert other.get(reverse("worklist")).status_code == 302
    owner.post(reverse("worklist-filters"), {"do": "delete", "filter": pk})
    assert other.get(reverse("worklist")).status_code == 200
    assert saved_filters.canonical("q=%00a&x=1") == "q=a"
