"""What a program orders twice is flagged and never blocked; what it reads is an event with its address."""

import pytest

from accounts.roles import Role
from audit.models import Event
from orders.models import Order
from tests.reports.cases import scored_order

pytestmark = pytest.mark.django_db


def test_an_order_that_looks_like_another_is_placed_and_says_so(site):
    caller = site.caller()
    first = site.order(caller)
    second = site.order(caller)
    assert Order.objects.count() == 2 and first["looks_like"] == []
    found = second["looks_like"]
    assert [(one["id"], one["accession"]) for one in found] == [(first["id"], first["accession"])]
    assert set(found[0]["reasons"]) == {"duplicate.patient-test", "duplicate.file", "duplicate.specimen"}
    assert caller.get(f"/orders/{second['id']}").json()["looks_like"] == found


def test_what_a_program_reads_is_an_event_once_in_ten_minutes_and_says_from_where(site):
    caller = site.caller()
    order = site.order(caller)
    for _ in range(2):
        caller.get(f"/orders/{order['id']}")
    event = Event.objects.get(action="order.viewed", object_id=order["id"])
    assert event.origin == "API, 127.0.0.1"
    assert Event.objects.get(action="order.placed").origin == "API, 127.0.0.1"
    assert all(one["action"] != "order.viewed" for one in caller.get(f"/orders/{order['id']}/events").json()["events"])


def test_results_and_reports_that_a_program_takes_are_events(site):
    order = scored_order()
    site.laboratory = order.performing_laboratory
    caller = site.caller(Role.ANALYST)
    for part in ("results", "results.csv", "report", "report.pdf"):
        assert caller.get(f"/orders/{order.pk}/{part}").status_code == 200, part
    read = set(Event.objects.filter(origin__startswith="API").values_list("action", flat=True))
    assert {"results.viewed", "results.exported", "report.viewed", "report.downloaded"} <= read
