"""The bell and its page, webhooks, clocks: each person his own, and nothing of another's."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.roles import Role
from foundation import clock
from notices import services
from notices.models import Delivery, Endpoint, Receipt
from orders.models import EscalationRule
from registry.models import Calendar, ClockChoice
from tests.dashboard.people import logged_in, read, shown
from tests.factories import make_laboratory, make_test_version, make_user

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def person():
    return make_user(role=Role.ANALYST, organisation=make_laboratory())


def tell(person: User, number: int = 1, *, level: int = 80) -> None:
    place = person.memberships.get().organisation_id
    for n in range(number):
        said = services.Told(
            f"{person.pk} {n} {level}",
            "order.escalated",
            place,
            [place],
            accession=f"A26-{n:06d}",
            facts={"clock": "result", "level": level},
        )
        services.tell(said, services.Audience(in_app=[person.pk]))


def test_the_bell_counts_what_is_unread_and_the_page_says_it_in_words(person):
    client = client_of(person)
    assert "none unread" in read(client, "bell")
    tell(person, 2)
    assert "<b>2</b>" in read(client, "worklist") and "<b>2</b>" in read(client, "bell")
    page = read(client, "notifications")
    assert "A26-000001" in page and "80 % of the time to results is used" in page


def test_one_is_read_then_all(person):
    tell(person, 3)
    client, first = client_of(person), Receipt.objects.latest("pk")
    client.post(reverse("notifications-read"), {"id": first.pk})
    assert Receipt.objects.filter(read_at=None).count() == 2
    client.post(reverse("notifications-read"), {"do": "all"})
    assert not Receipt.objects.filter(read_at=None).exists()


def test_nobody_reads_or_marks_what_another_was_told(person):
    tell(person)
    other = logged_in(Role.ANALYST, person.memberships.get().organisation)
    assert "A26-000000" not in read(other, "notifications")
    for data in ({"do": "all"}, {"id": Receipt.objects.get().pk}, {"id": "²"}):
        other.post(reverse("notifications-read"), data)
    assert Receipt.objects.get().read_at is None


def test_who_has_left_reads_no_more(person):
    tell(person)
    person.memberships.update(ended_at=clock.now())
    assert "A26-000000" not in read(client_of(person), "notifications")
    assert "none unread" in read(client_of(person), "bell")


def test_a_long_list_is_paged_and_costs_the_same(person, django_assert_max_num_queries):
    tell(person, 60)
    client = client_of(person)
    with django_assert_max_num_queries(12):
        assert "Older" in read(client, "notifications")
    assert "Newer" in read(client, "notifications", page=2)


def add(client: Client, laboratory, **said):
    values = {"do": "add", "name": "hospital", "url": "https://example.org/", "organisation": laboratory.pk, **said}
    return client.post(reverse("webhooks"), values)


def test_a_secret_is_shown_once_and_a_test_message_is_queued():
    laboratory = make_laboratory()
    client = logged_in(Role.ADMINISTRATOR, laboratory)
    answer = client.post(
        reverse("webhooks"), {"do": "add", "name": "hospital", "url": "https://example.org/", "organisation": laboratory.pk}
    )
    endpoint = Endpoint.objects.get()
    assert "whsec_" in answer.content.decode() and "whsec_" not in read(client, "webhooks")
    client.post(reverse("webhooks"), {"do": "test", "id": endpoint.pk})
    assert Delivery.objects.get().endpoint == endpoint
    assert "a test message" in read(client, "webhooks")


def test_a_failed_delivery_is_listed_with_its_reason_and_queued_again():
    laboratory = make_laboratory()
    client = logged_in(Role.ADMINISTRATOR, laboratory)
    client.post(
        reverse("webhooks"), {"do": "add", "name": "hospital", "url": "https://example.org/", "organisation": laboratory.pk}
    )
    client.post(reverse("webhooks"), {"do": "test", "id": Endpoint.objects.get().pk})
    Delivery.objects.update(state="failed", last_error="The receiver answered 503.")
    assert "The receiver answered 503." in read(client, "webhooks")
    client.post(reverse("webhooks"), {"do": "again", "id": Delivery.objects.get().pk})
    assert Delivery.objects.get().state == "queued"


@pytest.mark.parametrize("data", [{"do": "test"}, {"do": "renew"}, {"do": "remove"}, {"do": "again"}])
def test_a_strange_administrator_finds_no_webhook_of_others(data):
    laboratory = make_laboratory()
    add(logged_in(Role.ADMINISTRATOR, laboratory), laboratory)
    stranger = logged_in(Role.ADMINISTRATOR, make_laboratory())
    answer = stranger.post(reverse("webhooks"), {**data, "id": Endpoint.objects.get().pk})
    assert answer.status_code == 409 and "https://example.org/" not in answer.content.decode()
    assert not Delivery.objects.exists() and Endpoint.objects.get().ended_at is None


@pytest.mark.parametrize("said", [{"url": "http://example.org"}, {"name": ""}, {"organisation": "x"}])
def test_a_webhook_that_cannot_be_is_refused_with_what_was_typed(said):
    laboratory = make_laboratory()
    answer = add(logged_in(Role.ADMINISTRATOR, laboratory), laboratory, **said)
    assert answer.status_code == 409 and "Nothing is changed." in answer.content.decode()
    assert not Endpoint.objects.exists()


WEEK = {f"day{n}": "08:00-17:00" if n < 5 else "" for n in range(7)}


def calendar(client: Client, laboratory, **said):
    values = {
        "laboratory": laboratory.code,
        "code": "office",
        "name": "Office",
        "holidays": "2026-12-25 Christmas Day",
        "expected": "0",
    }
    return client.post(reverse("calendar"), {**values, **WEEK, "expected": "0", **said})


def test_a_director_keeps_a_calendar_and_gives_it_to_a_test():
    test = make_test_version()
    laboratory = test.definition.laboratory
    client = logged_in(Role.DIRECTOR, laboratory)
    assert calendar(client, laboratory).status_code == 302
    chosen = {
        "do": "choose",
        "laboratory": laboratory.code,
        "test": test.definition.code,
        "priority": "routine",
        "calendar": "office",
    }
    assert client.post(reverse("clocks"), chosen).status_code == 302
    assert (Calendar.objects.get().number, ClockChoice.objects.get().calendar_code) == (1, "office")
    page = read(client, "clocks")
    assert "Monday to Friday" in page and "08:00-17:00" in page and shown("by Person", page)
    assert "Christmas Day" in read(client, "calendar", code="office")


def test_a_calendar_that_was_changed_meanwhile_or_makes_no_sense_is_not_kept():
    laboratory = make_laboratory()
    client = logged_in(Role.DIRECTOR, laboratory)
    calendar(client, laboratory)
    for said, words in (({"name": "Other"}, "Somebody else changed"), ({"day0": "8-17", "expected": "1"}, "is no span"),
                        ({"holidays": "Xmas", "expected": "1"}, "is no date"), ({"code": "Büro"}, "short name takes")):  # fmt: skip
        answer = calendar(client, laboratory, **said)
        assert answer.status_code == 409 and words in answer.content.decode()
    assert Calendar.objects.count() == 1


def test_a_rule_is_added_and_ended_on_the_page():
    laboratory = make_laboratory()
    client = logged_in(Role.DIRECTOR, laboratory)
    assert "These are the usual rules" in read(client, "clocks")
    rule = {
        "do": "rule",
        "laboratory": laboratory.code,
        "clock": "report",
        "level": "80",
        "priority": "",
        "channel": "email",
        "whom": "director",
    }
    client.post(reverse("clocks"), rule)
    made = EscalationRule.objects.get()
    assert "every laboratory director" in read(client, "clocks")
    client.post(reverse("clocks"), {"do": "end rule", "laboratory": laboratory.code, "rule": made.pk})
    made.refresh_from_db()
    assert made.ended_at is not None
    answer = client.post(reverse("clocks"), {**rule, "whom": "nobody@example.org"})
    assert answer.status_code == 409 and "Choose a role" in answer.content.decode()


def test_a_director_chooses_a_webhook_by_its_name():
    laboratory = make_laboratory()
    client = logged_in(Role.DIRECTOR, laboratory)
    assert "an administrator adds webhooks" in read(client, "clocks")
    made = {"url": "https://pager.example/hook", "nonce": "n", "created_at": clock.now()}
    endpoint = Endpoint.objects.create(organisation=laboratory, name="Pager of the night", **made)
    Endpoint.objects.create(organisation=make_laboratory(), name="Elsewhere", **made)
    page = read(client, "clocks")
    assert '<option value="Pager of the night">' in page and "Elsewhere" not in page and str(endpoint.pk) not in page
    rule = {"do": "rule", "laboratory": laboratory.code, "clock": "result", "level": "100", "priority": "", "channel": "webhook"}
    client.post(reverse("clocks"), rule | {"whom": "Pager of the night"})
    assert EscalationRule.objects.get().endpoint == endpoint
    assert client.post(reverse("clocks"), rule | {"whom": "Elsewhere"}).status_code == 409


def test_a_director_elsewhere_finds_neither_the_page_nor_the_rules_of_a_laboratory():
    laboratory = make_laboratory()
    stranger = logged_in(Role.DIRECTOR, make_laboratory())
    assert stranger.get(reverse("clocks"), {"laboratory": laboratory.code}).status_code == 404
    assert calendar(stranger, laboratory).status_code == 404
    assert not Calendar.objects.exists()
