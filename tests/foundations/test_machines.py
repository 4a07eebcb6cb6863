"""State machines: what Python refuses, Postgres refuses too, the first state included."""

import itertools

import pytest
from django.db import IntegrityError, connection, transaction

from audit.models import Event
from audit.services import transition
from casefile.machines import ATTACHMENT, DRAFT
from engine_queue.machines import JOB, RUN
from engine_queue.models import Job, Run
from foundation.actor import process
from foundation.errors import IllegalMove, Stale
from foundation.machine import Machine
from interop.machines import FHIR_ORDER
from orders.machines import HOLD_REQUEST, IDENTITY_CHECK, INTAKE, MERGE, ORDER
from orders.models import Intake, Order
from oversight.machines import CHECK
from reports.machines import CRITICAL, REPORT
from reports.machines import DELIVERY as REPORT_DELIVERY
from tests import factories

pytestmark = pytest.mark.django_db

MACHINES = [
    ORDER,
    INTAKE,
    HOLD_REQUEST,
    IDENTITY_CHECK,
    MERGE,
    DRAFT,
    ATTACHMENT,
    RUN,
    JOB,
    REPORT,
    FHIR_ORDER,
    CHECK,
    REPORT_DELIVERY,
    CRITICAL,
]
ROWS = {ORDER: Order, RUN: Run, JOB: Job, INTAKE: Intake}


def _row(machine: Machine) -> object:
    order = factories.make_order()
    run = Run.objects.get(order_id=order.pk)
    return {ORDER: order, RUN: run, JOB: run.jobs.get(), INTAKE: order.intake}[machine]


@pytest.mark.parametrize("machine", [ORDER, RUN, JOB, INTAKE], ids=lambda m: m.table)
def test_the_database_refuses_every_move_that_is_no_edge(machine: Machine) -> None:
    row = _row(machine)
    here = row.state  # type: ignore[attr-defined]
    for target in sorted(machine.states - machine.edges.get(here, frozenset()) - {here}):
        with pytest.raises(IntegrityError, match="cannot go"), transaction.atomic():
            ROWS[machine].objects.filter(pk=row.pk).update(state=target)  # type: ignore[attr-defined]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.table)
def test_the_trigger_in_the_database_holds_exactly_the_edges_of_the_code(machine: Machine) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = %s", [f"{machine.table}_state_machine"])
        source = cursor.fetchone()[0]
    for a, b in itertools.permutations(machine.states, 2):
        assert (f"('{a}', '{b}')" in source) == machine.allows(a, b)


@pytest.mark.parametrize("state", sorted(ORDER.states - ORDER.initial))
def test_an_order_cannot_be_born_in_a_later_state(state: str) -> None:
    order = factories.make_order()
    order.pk, order.accession, order._state.adding = None, "A00-000000", True
    order.intake = factories.make_ready_intake()
    order.state = state
    with pytest.raises(IntegrityError, match="cannot begin"), transaction.atomic():
        order.save()


def test_a_transition_changes_the_row_and_writes_its_event() -> None:
    order = factories.make_order()
    transition(ORDER, order, to="in_analysis", actor=process("test"))
    order.refresh_from_db()
    event = Event.objects.get(object_id=str(order.pk), action="state.in_analysis")
    assert (order.state, event.facts["from"], event.facts["version"]) == ("in_analysis", "accepted", order.version)


def test_a_transition_without_an_edge_is_refused_before_the_database() -> None:
    with pytest.raises(IllegalMove):
        transition(ORDER, factories.make_order(), to="reported", actor=process("test"))


def test_a_transition_from_a_stale_page_changes_nothing() -> None:
    order = factories.make_order()
    with pytest.raises(Stale):
        transition(ORDER, order, to="cancelled", actor=process("test"), expected_version=order.version - 1)
    order.refresh_from_db()
    assert order.state == "accepted"


def test_what_an_accepted_order_rests_on_cannot_be_exchanged() -> None:
    order, other = factories.make_order(), factories.make_order()
    for change in ({"patient": other.patient}, {"specimen": other.specimen}, {"test_version": other.test_version}):
        with pytest.raises(IntegrityError, match="orders_order is pinned"), transaction.atomic():
            Order.objects.filter(pk=order.pk).update(**change)
