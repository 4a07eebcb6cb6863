"""`stat > asap > urgent > routine` from every door to the claim of a worker, unchanged."""

import pytest

from accounts.roles import Role
from engine_queue.models import Run
from orders.models import Order
from tests.dashboard.desk import Desk
from tests.dashboard.people import Ward
from tests.engine_queue.rows import take, taken
from tests.interop.fhir.sender import Sender
from tests.orders.test_manifests import Bench, cells

pytestmark = pytest.mark.django_db

CODES = ("routine", "urgent", "asap", "stat")  # the least urgent comes first


def _own(number: int) -> dict[str, str]:
    """Of a patient and on a specimen of its own: it looks like no other order."""
    return {"mrn": f"M-{number}", "specimen_identifier": f"S-{number}"}


def by_form(site) -> None:
    desk = Desk(Ward())
    for number, code in enumerate(CODES):
        reason = "sepsis" if code == "stat" else ""
        sent = desk.send("place", intake=str(desk.ward.intake().pk), **_own(number), priority=code, stat_reason=reason)
        assert sent.status_code == 302


def by_api(site) -> None:
    caller = site.caller()
    for number, code in enumerate(CODES):
        site.order(caller, priority=code, placer={"number": str(number)})


def by_fhir(site) -> None:
    sender = Sender(site)
    for number, code in enumerate(CODES):
        sender.order(priority=code, identifier=[{"system": "https://hospital.example/orders", "value": str(number)}])


def by_manifest(site) -> None:
    bench = Bench(role=Role.REQUESTER)
    rows = [cells(n, priority=code, stat_reason="sepsis" if code == "stat" else "") for n, code in enumerate(CODES)]
    bench.place(bench.sent(*rows))


@pytest.mark.parametrize("door", [by_form, by_api, by_fhir, by_manifest])
def test_what_was_asked_for_is_what_is_claimed(site, door) -> None:
    door(site)
    assert sorted(Order.objects.values_list("priority", flat=True)) == sorted(CODES)
    assert take(stat=True) is not None and take(stat=True) is None  # a STAT ticket leads to the STAT order alone
    claimed = [taken() for _ in CODES[:-1]]
    orders = [Order.objects.get(pk=Run.objects.get(pk=one.run_id).order_id) for one in claimed]
    assert [(one.rank, order.priority) for one, order in zip(claimed, orders, strict=True)] == [
        (1, "asap"),
        (2, "urgent"),
        (3, "routine"),
    ]
