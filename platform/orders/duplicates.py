"""Has this been ordered before? Said to a person before he places it, and kept with the order that he places nevertheless."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.db.models import CharField, QuerySet, Value

from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from foundation.reason_code import ReasonCode
from foundation.reasons import Reason, known
from orders import identity
from orders.models import Intake, Order, PatientIdentifier
from orders.requests import OrderRequest

WITHIN = timedelta(days=14)  # the same patient and test
NAMED = 5  # orders named for each reason, the latest
_OVER = ("cancelled", "rejected")  # nothing has come of these


@dataclass(frozen=True)
class Alike:
    """An order that this one looks like, and why."""

    order: Order
    reasons: tuple[ReasonCode, ...]
    other_patient: bool = False  # the label of one patient's specimen on another one's order


class LooksDuplicate(Refused):
    """This looks like an order that there is already. Nothing was placed."""

    def __init__(self, found: list[Alike]) -> None:
        super().__init__(code="order.looks-duplicate")
        self.found = found


def alike(actor: Actor, request: OrderRequest, intake: Intake, *, besides: Iterable[UUID] = ()) -> list[Alike]:
    """Orders of the same organisation that this one looks like, the latest first: only those that this actor may see.

    The same patient and test within `WITHIN`, the same content of the file for the same sample and test, the same specimen label.
    """
    orders = Order.objects.for_actor(actor).filter(ordering_organisation_id=request.ordering_organisation_id)
    orders = orders.exclude(state__in=_OVER).exclude(pk__in=list(besides)).exclude(intake=intake)
    mine = _patients(request)
    found = _found(_looked_for(orders, request, intake, mine))
    latest = Order.objects.select_related("patient", "test_version__definition", "specimen").filter(pk__in=found)
    return [
        Alike(order, tuple(found[order.pk]), order.patient_id not in mine)
        for order in (latest.order_by("-placed_at") if found else ())
    ]


def _found(looked_for: dict[Reason, QuerySet[Order]]) -> dict[UUID, list[Reason]]:
    """What each look-up finds, the latest few, in one statement: an order seldom looks like another one."""
    first, *others = [
        rows.order_by("-placed_at").annotate(why=Value(str(reason), CharField())).values_list("pk", "why")[:NAMED]
        for reason, rows in looked_for.items()
    ]
    said = set(first.union(*others, all=True))
    orders = {pk for pk, _ in said}
    return {pk: [reason for reason in looked_for if (pk, str(reason)) in said] for pk in orders}


def _looked_for(
    orders: QuerySet[Order], request: OrderRequest, intake: Intake, patients: list[UUID]
) -> dict[Reason, QuerySet[Order]]:
    """A look-up for each reason: each goes through an index of its own."""
    same_test = orders.filter(test_version__definition_id=intake.test_version.definition_id)
    label = request.specimen.identifier.strip()
    return {
        Reason.DUPLICATE_TEST: same_test.filter(patient_id__in=patients, placed_at__gte=clock.now() - WITHIN),
        Reason.DUPLICATE_FILE: same_test.filter(intake__file_id=intake.file_id, intake__sample=intake.sample),
        Reason.DUPLICATE_SPECIMEN: orders.filter(
            specimen__organisation_id=request.ordering_organisation_id, specimen__identifier=label
        ),
    }


def _patients(request: OrderRequest) -> list[UUID]:
    """The patient that is meant, if he is known: a number with other details is a question, and nobody's duplicate."""
    system = request.patient.mrn_system.strip() or str(request.ordering_organisation_id)
    known = PatientIdentifier.objects.filter(
        organisation_id=request.ordering_organisation_id, system=system, value=request.patient.mrn.strip(), retired_at=None
    )
    return [one.patient_id for one in known.select_related("patient") if identity.same(one.patient, request.patient)]


def one_at_a_time(request: OrderRequest) -> None:
    """Let nobody else place an order for this patient on the form until this transaction ends: two windows warn of each other."""
    key = f"{request.ordering_organisation_id}|{request.patient.mrn.strip()}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 6))", [key])


def untold(found: list[Alike], told: frozenset[UUID]) -> bool:
    """Whether any of them is one that the person has not been told of."""
    return any(one.order.pk not in told for one in found)


def facts(found: list[Alike], told: frozenset[UUID] | None) -> dict[str, object]:
    """What the order's event keeps: which orders, why, and whether a person placed it nevertheless."""
    if not found:
        return {}
    return {
        "alike": {str(one.order.pk): [str(reason) for reason in one.reasons] for one in found},
        "nevertheless": told is not None,
    }


def noted(actor: Actor, order: Order) -> list[Alike]:
    """What an order looked like when it was placed, as its event says: only orders that this actor may see."""
    placed = Event.objects.filter(object_type="orders.order", object_id=str(order.pk), action="order.placed").first()
    said = placed.facts.get("alike", {}) if placed else {}
    if not said:
        return []
    found = Order.objects.for_actor(actor).filter(pk__in=list(said)).order_by("-placed_at")
    return [Alike(one, tuple(known(code) for code in said[str(one.pk)])) for one in found]
