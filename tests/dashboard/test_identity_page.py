"""The identity check on its page: both sides marked, each decision by a form, and who may not look."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from orders.models import IdentityCheck, Order, Patient
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_laboratory, make_user
from tests.orders.people import contradicting

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def order(ward: Ward) -> Order:
    return contradicting(ward.order())


@pytest.fixture
def clerk(ward: Ward) -> Client:
    return logged_in(Role.ACCESSIONER, ward.hospital)


def sent(client: Client, order: Order, do: str, **said: object):
    page = read(client, "order-identity", order.pk)
    fields = dict(re.findall(r'<input type="hidden" name="(check|version|known)" value="(\d+)"', page))
    data = fields | {"do": do, "words": "asked the ward", **said}
    return client.post(reverse("order-identity", args=[order.pk]), data, follow=True)


def test_the_sides_stand_beside_each_other_and_what_differs_is_said_in_words(order: Order, clerk: Client) -> None:
    page = read(clerk, "order-identity", order.pk)
    marked = re.findall(r'<th scope="row">([\w ]+?) <span class="mark"><span aria-hidden="true">≠</span> differs', page)
    assert marked == ["Birth date"] and "31 Jan 1971" in page and "31 Jan 1970" in page
    known = IdentityCheck.objects.get().known.orders.get()
    assert f"/orders/{known.pk}/" in page
    looks = Event.objects.filter(action__in=["order.viewed", "patient.viewed"]).values_list("object_id", flat=True)
    assert set(looks) == {str(order.pk), str(known.patient_id)}


@pytest.mark.parametrize(
    ("do", "said", "told"),
    [
        ("statement", {}, "belongs to the known patient"),
        ("record", {"fields": ["birth_date"]}, "The record is corrected"),
        ("another", {"number": "NEW-1"}, "belongs to another person"),
        ("reject", {}, "is rejected"),
    ],
)
def test_each_decision_is_taken_on_the_page_and_stays_to_be_read(
    order: Order, clerk: Client, do: str, said: dict, told: str
) -> None:
    page = sent(clerk, order, do, **said).content.decode()
    assert told in page and (do == "reject" or "It is" in page) and (do == "record" or "As stated" in page)
    assert Order.objects.get(pk=order.pk).state == ("rejected" if do == "reject" else "accepted")
    assert shown("asked the ward", read(clerk, "order-identity", order.pk))


def test_a_taken_number_asks_again_on_the_same_page(ward: Ward, order: Order, clerk: Client) -> None:
    third = ward.order()
    page = sent(clerk, order, "another", number=third.stated_mrn).content.decode()
    assert "The question is asked again" in page and shown(third.patient.given_name, page)
    assert "the question is asked again." in page.split("What was decided")[1]


def test_a_stale_page_decides_nothing_and_says_so(order: Order, clerk: Client) -> None:
    Patient.objects.filter(pk=IdentityCheck.objects.get().known_id).update(edits=7)
    answer = sent(clerk, order, "statement", known=1, words="typed long ago")
    assert answer.status_code == 409 and "has changed since you opened this page" in answer.content.decode()
    assert shown("typed long ago", answer.content.decode()) and Order.objects.get(pk=order.pk).state == "submitted"


@pytest.mark.parametrize("said", [{"do": ""}, {"words": " "}, {"check": "x"}, {"known": "9" * 30}, {"do": "another", "number": ""}])
def test_bad_input_is_answered_in_words(order: Order, clerk: Client, said: dict[str, str]) -> None:
    answer = sent(clerk, order, **{"do": "statement", **said})
    assert answer.status_code == 409 and "Nothing is decided." in answer.content.decode()
    assert Order.objects.get(pk=order.pk).state == "submitted"


def test_the_worklist_and_the_order_page_lead_there_only_who_may_decide(ward: Ward, order: Order, clerk: Client) -> None:
    link = f'href="{reverse("order-identity", args=[order.pk])}"'
    for name, args in (("worklist", ()), ("order", (order.pk,))):
        assert link in read(clerk, name, *args)
        assert link not in read(ward.requester(), name, *args)


def test_who_may_not_decide_is_told_whom_to_ask(ward: Ward, order: Order) -> None:
    make_user(role=Role.ACCESSIONER, organisation=ward.hospital, name="Amal Accession")
    for client in (ward.requester(), ward.analyst()):
        assert "settles an accessioner: ask Amal Accession" in read(client, "order", order.pk)
        refused = client.get(reverse("order-identity", args=[order.pk]))
        assert refused.status_code == 403 and "ask Amal Accession" in refused.content.decode()


def test_open_checks_stand_in_a_list_with_stat_on_top_and_a_count_in_the_bar(ward: Ward, order: Order, clerk: Client) -> None:
    stat = contradicting(ward.order(), priority="stat")
    page = read(clerk, "identity-checks")
    places = [page.index(one.accession) for one in (stat, order)]
    assert places == sorted(places) and ">2<span" in page and "1 STAT" in page
    sent(clerk, stat, "statement")
    assert stat.accession not in read(clerk, "identity-checks") and ">1<span" in read(clerk, "worklist")
    stranger = logged_in(Role.ACCESSIONER, make_laboratory())
    assert "No identity check is open." in read(stranger, "identity-checks")


def test_nobody_else_gets_the_page(ward: Ward, order: Order) -> None:
    for client, code in ((ward.requester(), 403), (ward.analyst(), 403), (logged_in(Role.ACCESSIONER, make_laboratory()), 404)):
        assert client.get(reverse("order-identity", args=[order.pk])).status_code == code
        assert client.post(reverse("order-identity", args=[order.pk]), {"do": "reject", "words": "x"}).status_code == code
    assert ward.requester().get(reverse("identity-checks")).status_code == 403


def test_the_list_takes_as_many_queries_for_six_as_for_two(
    ward: Ward, order: Order, clerk: Client, django_assert_max_num_queries
) -> None:
    for _ in range(5):
        contradicting(ward.order())
    with django_assert_max_num_queries(10):
        read(clerk, "identity-checks")
