"""Two people at the same moment: committed transactions on a database of their own."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from accounts.roles import Role
from engine_queue.models import Run
from orders import services
from orders.models import Intake, Order, Patient
from orders.requests import OrderRequest
from tests import factories


def _together(requests: list[tuple[Intake, OrderRequest]]) -> list[Order]:
    actors = [factories.make_actor(role=Role.ACCESSIONER, organisation=intake.ordering_organisation) for intake, _ in requests]

    def place(n: int) -> Order:
        try:
            return services.place(actor=actors[n], request=requests[n][1])
        finally:
            connection.close()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(place, range(len(requests))))


def test_two_orders_for_one_new_record_number_become_one_patient(clone_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = factories.make_ready_intake()
    second = factories.make_ready_intake(test_version=first.test_version, organisation=first.ordering_organisation)
    patient = factories.make_request(first).patient
    both = Barrier(2)  # both have looked before either writes
    create = Patient.objects.create
    waits = [True, True]

    def create_together(**values: object) -> Patient:
        if waits:
            waits.pop()
            both.wait(10)
        return create(**values)

    monkeypatch.setattr(Patient.objects, "create", create_together)
    orders = _together([(intake, factories.make_request(intake, patient=patient)) for intake in (first, second)])
    assert orders[0].patient == orders[1].patient
    assert (Patient.objects.count(), Run.objects.count()) == (1, 2)


def test_a_double_click_that_arrives_at_once_is_one_order(clone_db: str) -> None:
    intake = factories.make_ready_intake()
    request = factories.make_request(intake)
    orders = _together([(intake, request), (intake, request)])
    assert orders[0] == orders[1]
    assert (Order.objects.count(), Run.objects.count()) == (1, 1)
