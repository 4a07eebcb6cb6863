"""The same order from several senders at one moment, and a sweep beside another."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connections

from interop.fhir import ordering
from interop.models import FhirOrder
from orders.models import Order
from tests.interop.caller import Caller, Site
from tests.interop.fhir.sender import Sender


def crowd(work, times=4):
    def alone(n):
        try:
            return work(n)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as people:
        return list(people.map(alone, range(times)))


def again(sender: Sender) -> Sender:
    made = Sender.__new__(Sender)
    made.site, made.test, made.caller = sender.site, sender.test, Caller(sender.caller.token)
    return made


def test_sent_at_the_same_moment_it_is_one_order_and_swept_at_the_same_moment_it_is_placed_once(clone_db):
    sender = Sender(Site())
    answers = crowd(lambda n: again(sender).post(sender.bundle()).json()["entry"][-1])
    assert len({answer["resource"]["id"] for answer in answers}) == 1
    assert sorted(answer["response"]["status"] for answer in answers) == ["200 OK"] * 3 + ["201 Created"]
    assert FhirOrder.objects.count() == 1
    sender.check_files()
    pk = FhirOrder.objects.get().pk
    crowd(lambda n: ordering.settle(pk))
    assert Order.objects.get().pk == pk


def test_stat_at_the_same_moment_under_one_number_is_kept_whole(clone_db):
    sender = Sender(Site())
    answers = crowd(lambda n: again(sender).post(sender.bundle(priority="stat", reasonCode=[{"text": f"reason {n % 2}"}])))
    assert {answer.status_code for answer in answers} == {200}
    assert FhirOrder.objects.count() == 2 and FhirOrder.objects.filter(doubtful=True).count() == 1
    sender.check()
    assert sorted(Order.objects.values_list("state", flat=True)) == ["accepted", "submitted"]


def test_what_fails_by_our_fault_ends_with_a_person_and_stops_nobody_else(clone_db, monkeypatch):
    sender = Sender(Site())
    bad = sender.order(checked=False, priority="asap")
    good = sender.order(checked=False, identifier=[{"system": "https://hospital.example/orders", "value": "2"}])
    real = ordering.services.place

    def place(**named):
        if str(named["order_id"]) == bad:
            raise RuntimeError("a fault of ours")
        return real(**named)

    monkeypatch.setattr(ordering.services, "place", place)
    for _ in range(3):
        sender.check()
    assert str(Order.objects.get().pk) == good
    assert (FhirOrder.objects.get(pk=bad).state, FhirOrder.objects.get(pk=bad).code) == ("parked", "fhir.cannot-place")
