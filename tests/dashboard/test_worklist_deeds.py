"""One deed on several orders: who may, what is asked before, what became of each; and the list as a file."""

import csv
import io
import re

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client
from django.urls import reverse

from accounts.models import Membership, User
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from dashboard import worklist_csv
from foundation import clock
from orders import several
from orders.models import Order
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_user
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
WORK = {"analyst", "reviewer", "director"}  # take and give orders: written down a second time
EXPORT = {"analyst", "reviewer", "director"}  # may export and see orders; an auditor exports, but sees none


@pytest.fixture
def ward() -> Ward:
    return Ward()


def value(order: Order) -> str:
    return f"{order.pk}:{Order.objects.get(pk=order.pk).edits}"


def act(client: Client, do: str, orders: list[Order], **said: str):
    return client.post(reverse("worklist-act"), {"do": do, "order": [value(order) for order in orders], "sure": "yes", **said})


def test_an_order_is_taken_by_the_button_of_its_row_and_the_list_says_whose_it_is(ward: Ward) -> None:
    order, client, colleague = ward.order(), ward.analyst(), ward.analyst()
    button = re.search(r'name="one" value="([^"]+)"', read(client, "worklist"))
    assert button and button[1] == f"take:{value(order)}"
    response = client.post(reverse("worklist-act"), {"one": button[1], "list": "chip=unassigned&evil=1"})
    assert response["Location"] == "/?chip=unassigned"
    page = read(client, "worklist", chip="mine")
    assert f"Order {order.accession} is yours." in page and "<b>yours</b>" in page and "Unassigned<b>0</b>" in page
    late = colleague.post(reverse("worklist-act"), {"one": button[1]}, follow=True).content.decode()
    assert "Somebody else changed this first" in late and 'name="one"' not in late


def test_an_order_is_taken_and_given_on_its_page_and_mine_is_what_is_mine_to_do(ward: Ward) -> None:
    order, client, requester = ward.order(), ward.analyst(), ward.requester()
    page = read(client, "order", order.pk)
    assert "Nobody works on it yet." in page and 'id="work"' in page and 'id="work"' not in read(requester, "order", order.pk)
    on_page = {"at": "order", "order": value(order)}
    took = client.post(reverse("worklist-act"), on_page | {"do": "take"}, follow=True)
    assert took.redirect_chain[0][0] == reverse("order", args=[order.pk]) and "It is your work." in took.content.decode()
    to = make_user(role=Role.ANALYST, organisation=ward.laboratory, name="Colleague")
    asked = client.post(reverse("worklist-act"), {"at": "order", "order": value(order), "do": "assign"}).content.decode()
    assert "Back to the order" in asked and "Colleague" in asked and 'name="at" value="order"' in asked
    on_page = {"at": "order", "order": value(order), "do": "assign", "sure": "yes", "to": str(to.pk)}
    assert "<b>Colleague</b> works on it." in client.post(reverse("worklist-act"), on_page, follow=True).content.decode()
    colleague, placer = Client(), Client()
    colleague.force_login(to)
    placer.force_login(User.objects.get(pk=order.placed_by_id))
    assert "Mine<b>1</b>" in read(colleague, "worklist") and "assigned to you" in read(colleague, "worklist", chip="mine")
    assert "Mine<b>1</b>" in read(placer, "worklist") and "open orders that you placed" in read(placer, "worklist", chip="mine")
    assert "Mine<b>0</b>" in read(client, "worklist")


@pytest.mark.parametrize(
    ("do", "said", "column", "after"),
    [
        ("take", {}, "assignee__isnull", False), ("assign", {"to": "me"}, "assignee__isnull", False),
        ("hold", {"hold": "hold.input"}, "hold_reason", "hold.input"), ("cancel", {"reason": "twice"}, "state", "cancelled"),
        ("priority", {"priority": "asap", "reason": "fever"}, "priority", "asap"),
    ],
)  # fmt: skip
def test_a_deed_is_done_to_each_order_and_what_is_refused_of_one_stops_no_other(ward, do, said, column, after) -> None:
    orders, client = [ward.order() for _ in range(3)], ward.analyst()
    stale = f"{orders[1].pk}:99"
    data = {"do": do, "order": [value(orders[0]), stale, value(orders[2])], "sure": "yes", **said}
    page = client.post(reverse("worklist-act"), data).content.decode()
    assert "2 done, 1 not" in page and "Somebody else changed this first" in page and orders[1].accession in page
    assert set(Order.objects.filter(**{column: after})) == {orders[0], orders[2]}


def test_orders_go_on_and_are_given_back_together(ward: Ward) -> None:
    orders, client = [ward.order() for _ in range(2)], ward.analyst()
    for do, said in (("take", {}), ("hold", {"hold": "hold.input"}), ("release", {}), ("back", {})):
        assert "2 done, 0 not" in act(client, do, orders, **said).content.decode()
    assert set(Order.objects.values_list("assignee", "hold_reason")) == {(None, "")}


@pytest.mark.parametrize(
    ("do", "said", "words"),
    [
        ("hold", {}, "Choose why"), ("priority", {"priority": "asap"}, "Say why."), ("cancel", {"reason": " "}, "Say why."),
        ("priority", {"priority": "now", "reason": "x"}, "Choose STAT"), ("assign", {"to": "nobody known"}, "Choose to whom."),
        ("cancel", {"reason": "x" * 501}, "at most 500 fit"),
    ],
)  # fmt: skip
def test_what_has_to_be_said_is_asked_for_once_and_nothing_is_done_without_it(ward: Ward, do, said, words) -> None:
    order = ward.order()
    response = act(ward.analyst(), do, [order], **said)
    page = response.content.decode()
    assert response.status_code == 409 and words in page and order.accession in page and value(order) in page
    assert Order.objects.get().edits == 1


def test_a_stat_order_of_another_person_is_refused_among_those_that_are_held(ward: Ward) -> None:
    plain, stat = ward.order(), ward.order(priority="stat")
    page = act(ward.analyst(), "hold", [plain, stat], hold="hold.specimen").content.decode()
    assert "1 done, 1 not" in page and "two people" in page
    assert set(Order.objects.exclude(hold_reason="")) == {plain}


@pytest.mark.parametrize("role", sorted(set(Role.values) - {"service"}))  # whose door is the API
@pytest.mark.parametrize("side", ["laboratory", "hospital", "stranger"])
def test_rights_are_those_of_each_order_and_a_stranger_finds_none(ward: Ward, role: str, side: str) -> None:
    order = ward.order()
    organisation = {"laboratory": ward.laboratory, "hospital": ward.hospital}.get(side) or Ward().laboratory
    client = logged_in(role, organisation)
    client.post(reverse("worklist-act"), {"do": "take", "order": [value(order)]})
    taken = Order.objects.get().assignee is not None
    assert taken == (role in WORK and side == "laboratory")
    exported = client.get(reverse("worklist.csv")).status_code
    assert exported == (200 if role in EXPORT else 403)
    assert client.get(reverse("worklist-filters")).status_code == 200
    page = client.get(reverse("worklist")).content.decode()
    assert ('id="act"' in page) == (role in WORK) and ('data-pick="' in page) == (role in WORK and side != "stranger")


def test_all_that_match_are_shown_before_anything_is_done_and_no_more_than_can_be_changed(ward: Ward, monkeypatch) -> None:
    late, other, client = ward.order(priority="asap"), ward.order(), ward.analyst()
    data = {"do": "take", "all": "yes", "list": "priority=asap"}
    page = client.post(reverse("worklist-act"), data).content.decode()
    assert late.accession in page and other.accession not in page and not Order.objects.exclude(assignee=None)
    monkeypatch.setattr(several, "MOST", 1)
    assert client.post(reverse("worklist-act"), {**data, "list": ""})["Location"] == "/?chip=open"
    assert "More than 1 orders match" in read(client, "worklist", chip="open")


def exported(user: User, **query: str) -> tuple[str, list[dict[str, str]]]:
    async def fetch() -> tuple[str, str]:
        client = AsyncClient()
        await client.aforce_login(user)
        response = await client.get(reverse("worklist.csv"), query)
        body = b"".join([part async for part in response.streaming_content])
        return response["Content-Disposition"], body.decode()

    name, text = async_to_sync(fetch)()
    return name, list(csv.DictReader(io.StringIO(text)))


def test_the_filtered_list_is_a_file_without_scores_and_safe_to_open(monkeypatch) -> None:
    ward = Ward(time_zone="Asia/Kolkata")
    monkeypatch.setattr(worklist_csv, "BATCH", 2)
    evil = ward.order(patient=patient(mrn="=1+1", family_name="@SUM(A1)", given_name="+x"), priority="asap")
    orders = [evil, *(ward.scored(variants=2, priority="asap") for _ in range(4))]
    ward.order()
    user = make_user(role=Role.ANALYST, organisation=ward.laboratory)
    Membership.objects.create(user=user, organisation=ward.hospital, role=Role.ANALYST, granted_at=clock.now())
    name, rows = exported(user, priority="asap")
    assert [row["accession"] for row in rows] == [order.accession for order in orders]
    assert (rows[0]["record_number"], rows[0]["family_name"], rows[0]["given_name"]) == ("'=1+1", "'@SUM(A1)", "'+x")
    assert not {"delta", "score", "ll_ref"} & rows[0].keys() and rows[0]["placed"].endswith(("+00:00", "+05:30"))
    assert re.search(r'filename="worklist-\d{4}-\d\d-\d\d\.csv"', name)


def test_who_exports_is_written_down_with_the_filters_and_without_what_was_searched_for(ward: Ward) -> None:
    user = make_user(role=Role.REVIEWER, organisation=ward.laboratory)
    exported(user, q="Okafor", chip="late")
    event = Event.objects.get(action="worklist.exported")
    assert (event.actor_id, event.organisation_id) == (user.pk, ward.laboratory.pk)
    assert event.facts == {"q": "a search", "chip": "late"}


def test_a_file_holds_only_orders_that_may_be_exported(ward: Ward) -> None:
    inside, outside = ward.order(), Ward().order()
    user = make_user(role=Role.ANALYST, organisation=ward.laboratory)
    Membership.objects.create(user=user, organisation=outside.ordering_organisation, role=Role.REQUESTER, granted_at=clock.now())
    assert [row["accession"] for row in exported(user)[1]] == [inside.accession]
    assert outside.accession in read(logged_in(Role.REQUESTER, outside.ordering_organisation), "worklist")
    assert actor_for(user).organisations("export") == {ward.laboratory.pk}
