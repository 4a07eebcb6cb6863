"""What the numbers of an order and of a patient mean by the API and FHIR, and an answer that is given after the commit alone."""

from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection

from accounts.roles import Role
from accounts.services import actor_for
from interop.api.orders import asked
from interop.api.shapes import OrderGiven
from interop.models import FhirOrder
from orders import services
from orders.models import Intake, Order, Patient
from reports import wrong_patient
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward
from tests.factories import make_actor
from tests.interop.caller import PATIENT, SPECIMEN, Site
from tests.interop.fhir.sender import Sender


@pytest.mark.django_db
def test_the_same_file_sent_again_under_the_same_number_is_the_same_order(site):
    caller, number = site.caller(), {"system": "LIS", "number": "7"}
    first = site.order(caller, placer=number)
    again = caller.post("/orders", site.wanted(site.upload(caller), placer=number))
    assert (again.status_code, again.json()["id"]) == (201, first["id"]) and Order.objects.count() == 1
    assert Intake.objects.count() == 2


@pytest.mark.django_db
def test_stat_under_a_taken_number_is_parked_and_not_lost(site):
    caller, number = site.caller(), {"system": "LIS", "number": "7"}
    first = site.order(caller, placer=number)
    body = site.wanted(site.upload(caller, vcf(400)), placer=number, priority="stat", stat_reason="sepsis")
    parked, again = (caller.post("/orders", body).json() for _ in range(2))
    assert (parked["state"], parked["attention"], parked["priority"]) == ("submitted", "order.conflict", "stat")
    assert again["id"] == parked["id"] != first["id"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "detail", [{"family_name": "Other"}, {"given_name": "Ada"}, {"birth_date": "1962-03-14"}, {"sex": "male"}], ids=str
)
def test_a_known_number_with_another_detail_is_parked_for_a_person_and_overwrites_nothing(site, detail):
    caller = site.caller()
    site.order(caller)
    known = Patient.objects.values().get()
    asked = caller.post("/orders", site.wanted(site.upload(caller, vcf(400)), patient={**PATIENT, **detail}))
    assert (asked.status_code, asked.json()["state"], asked.json()["attention"]) == (201, "submitted", "identity.mismatch")
    assert Patient.objects.values().get(pk=known["id"]) == known and Patient.objects.count() == 2


@pytest.mark.django_db
def test_an_order_for_the_wrong_patient_is_entered_in_error_for_programs_too(site):
    sender = Sender(site)
    pk = sender.order()
    clerk = make_actor(role=Role.ACCESSIONER, organisation=site.laboratory)
    order = Order.objects.get(pk=pk)
    wrong_patient.declare(order=order, words="tubes were swapped", actor=clerk, expected_edits=order.edits)
    told = {kind: sender.get(f"/{kind}/{pk}").json()["status"] for kind in ("ServiceRequest", "Task", "DiagnosticReport")}
    assert set(told.values()) == {"entered-in-error"}, told
    assert sender.caller.get(f"/orders/{pk}").json()["state"] == "entered_in_error"


@contextmanager
def no_commit_of(model):
    """The database goes away in the moment in which a new row of this kind would be committed."""
    real = connection._commit

    def commit():
        if model.objects.exists():
            raise OperationalError("the connection was lost")
        real()

    connection._commit = commit
    try:
        yield
    finally:
        connection._commit = real


def test_nothing_is_answered_as_done_before_it_is_committed(clone_db, settings):
    settings.STATIC_ROOT = None
    site = Site()
    caller, sender = site.caller(), Sender(site)
    body = site.wanted(site.upload(caller))
    for headers in ({}, {"Idempotency_Key": "k1"}):
        with no_commit_of(Order):
            answer = caller.post("/orders", body, **headers)
        assert answer.status_code == 503 and "Location" not in answer and not Order.objects.exists()
    with no_commit_of(FhirOrder):
        assert sender.post(sender.bundle()).status_code == 503
    assert not FhirOrder.objects.exists()
    desk = Desk(Ward())
    with no_commit_of(Order):
        refused = desk.send("place", intake=str(desk.ward.intake().pk))
    assert refused.status_code == 503 and not Order.objects.exists()
    assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 201
    assert sender.post(sender.bundle()).status_code == 200


@pytest.mark.django_db
def test_one_moment_in_another_zone_is_the_same_order_by_every_door(site):
    caller, number = site.caller(), {"placer": {"system": "https://hospital.example/orders", "number": "55-201"}}
    placed = site.order(caller, **number)
    for written in ("2026-01-15T07:30:00Z", "2026-01-14T23:30:00-08:00"):
        assert site.order(caller, specimen={**SPECIMEN, "collected_at": written}, **number)["id"] == placed["id"]
    later = {**SPECIMEN, "collected_at": "2026-01-15T07:31:00Z"}
    assert caller.post("/orders", site.wanted(site.upload(caller), specimen=later, **number)).status_code == 409


@pytest.mark.django_db
def test_what_was_placed_before_moments_were_compared_is_still_the_same_order(site):
    caller, number = site.caller(), {"placer": {"system": "", "number": "55-202"}}
    placed = site.order(caller, **number)
    order = Order.objects.select_related("intake__file").get(pk=placed["id"])
    request = asked(actor_for(order.placed_by), OrderGiven(**site.wanted(str(order.intake_id), **number)))
    order.content_hash = services.content_hash(request, order.intake, as_written=True)
    assert order.content_hash != services.content_hash(request, order.intake) and services.says(order, request, order.intake)


@pytest.mark.django_db
def test_stat_that_was_parked_is_the_same_order_when_it_is_sent_again_with_its_file(site):
    caller, number = site.caller(), {"system": "LIS", "number": "8"}
    site.order(caller, placer=number)
    parked, again = (
        caller.post(
            "/orders", site.wanted(site.upload(caller, vcf(400)), placer=number, priority="stat", stat_reason="sepsis")
        ).json()
        for _ in range(2)
    )
    assert parked["attention"] == "order.conflict" and again["id"] == parked["id"] and Order.objects.count() == 2
