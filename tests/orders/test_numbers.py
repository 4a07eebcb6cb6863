"""A number names one patient, or one order, within one organisation and one system, and is shown as it was written."""

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.roles import Role
from orders.models import Order, PatientIdentifier
from orders.requests import OrderRequest, PatientDetails, SpecimenDetails
from orders.services import content_hash
from tests.dashboard.people import logged_in, read, shown
from tests.factories import make_order, make_organisation, make_ready_intake, make_token, make_user
from tests.reports.cases import drafted, patient, scored_order

pytestmark = pytest.mark.django_db


def test_the_same_number_elsewhere_or_in_another_system_is_somebody_else() -> None:
    first = make_order(patient=patient(mrn="007"))
    elsewhere = make_ready_intake(test_version=first.test_version, organisation=make_organisation())
    here = make_ready_intake(test_version=first.test_version, organisation=first.ordering_organisation)
    others = [
        make_order(intake=elsewhere, patient=patient(mrn="007", family_name="Other")),
        make_order(intake=here, patient=patient(mrn="007", mrn_system="urn:national", family_name="Third")),
    ]
    assert {order.state for order in others} == {"accepted"} and not any(order.attention for order in others)
    assert len({first.patient_id, *(order.patient_id for order in others)}) == PatientIdentifier.objects.count() == 3


def test_a_placer_number_is_free_in_another_system_and_for_another_organisation() -> None:
    first = make_order(placer_system="ward", placer_number="55")
    here, there = first.ordering_organisation, make_organisation()
    for organisation, system in ((here, "laboratory"), (here, ""), (there, "ward")):
        intake = make_ready_intake(test_version=first.test_version, organisation=organisation)
        order = make_order(intake=intake, placer_system=system, placer_number="55")
        assert (order.state, order.conflicts_with, order.attention) == ("accepted", None, "")
    assert Order.objects.count() == 4


NUMBER = "007·ab / Ωß-0"


def test_a_number_is_shown_as_it_was_written_wherever_it_is_shown() -> None:
    order = scored_order(patient=patient(mrn=NUMBER))
    laboratory, user = order.performing_laboratory, make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    client, clerk = logged_in(Role.ANALYST, laboratory), logged_in(Role.ACCESSIONER, laboratory)
    pages = {name: read(client, name, *([order.pk] if name != "worklist" else [])) for name in ("worklist", "order", "report-page")}
    pages |= {"patient": read(clerk, "patient", order.patient_id), "specimen": read(clerk, "specimen", order.pk)}
    assert [name for name, page in pages.items() if not shown(NUMBER, page)] == []
    headers = {"Authorization": f"Bearer {make_token(user)}"}
    assert Client().get(f"/api/v1/orders/{order.pk}", headers=headers).json()["patient"]["mrn"] == NUMBER
    assert Client().get(f"/fhir/Patient/{order.patient_id}", headers=headers).json()["identifier"][0]["value"] == NUMBER
    assert json.loads(drafted(order).content)["patient"]["identifiers"][0]["value"] == NUMBER


def leaves(said: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for field in fields(said):
        value = getattr(said, field.name)
        yield from leaves(value, (*path, field.name)) if is_dataclass(value) else [((*path, field.name), value)]


def changed(said: Any, path: tuple[str, ...], value: Any) -> Any:
    inner = changed(getattr(said, path[0]), path[1:], value) if len(path) > 1 else value
    return replace(said, **{path[0]: inner})


def other(value: Any) -> Any:
    match value:
        case datetime():
            return value + timedelta(minutes=1)
        case date():
            return value + timedelta(days=1)
        case str():
            return f"{value}x"
    return uuid4()


def test_the_content_of_an_order_is_everything_that_was_said_and_the_file() -> None:
    who = PatientDetails("7", "Okafor", "Ngozi", date(1961, 3, 14), "female", "urn:x")
    what = SpecimenDetails("S-7", "blood", "arm", datetime(2026, 1, 5, 8, 30, tzinfo=UTC))
    said = OrderRequest(uuid4(), uuid4(), who, what, "stat", "sepsis", "fever", "A", "ward", "55", uuid4(), uuid4(), uuid4())
    file: Any = SimpleNamespace(file=SimpleNamespace(sha256="f"), sample="A", test_version_id=uuid4())
    digest = content_hash(said, file)
    same = [path for path, value in leaves(said) if content_hash(changed(said, path, other(value)), file) == digest]
    assert same == [("intake_id",)]  # which upload it was does not matter: its bytes do
    for name, value in (("file", SimpleNamespace(sha256="g")), ("sample", "B"), ("test_version_id", uuid4())):
        assert content_hash(said, SimpleNamespace(**{**vars(file), name: value})) != digest, name  # type: ignore[arg-type]
