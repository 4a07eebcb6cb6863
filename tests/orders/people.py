"""Patients for tests: an order that contradicts a known record, and two records of one person."""

from dataclasses import replace
from datetime import date
from typing import Any

from accounts.roles import Role
from foundation.actor import Actor
from orders.models import IdentityCheck, Order, Patient
from tests.factories import make_actor, make_order, make_ready_intake, make_request


def contradicting(first: Order, *, actor: Actor | None = None, **changes: Any) -> Order:
    """An order under the number of another one's patient, who is stated with other details."""
    asked = {name: changes.pop(name) for name in ("priority", "stat_reason") if name in changes}
    intake = make_ready_intake(test_version=first.test_version, organisation=first.ordering_organisation)
    known = first.patient
    said = {"family_name": known.family_name, "given_name": known.given_name, **(changes or {"birth_date": date(1971, 1, 31)})}
    details = replace(make_request(intake).patient, mrn=known.identifiers.earliest("pk").value, **said)
    return make_order(intake=intake, actor=actor, patient=details, **asked)


def check_of(order: Order) -> IdentityCheck:
    return IdentityCheck.objects.get(order=order, state="open")


def accessioner(order: Order) -> Actor:
    return make_actor(role=Role.ACCESSIONER, organisation=order.ordering_organisation)


def seen(check: IdentityCheck) -> tuple[int, int]:
    """What a page shows of a check: its version, and the edits of the known record."""
    return check.version, Patient.objects.get(pk=check.known_id).edits


def two_records() -> tuple[Order, Order]:
    """Orders of two records of one hospital: the survivor's, and the other's."""
    first = make_order()
    intake = make_ready_intake(test_version=first.test_version, organisation=first.ordering_organisation)
    return first, make_order(intake=intake)
