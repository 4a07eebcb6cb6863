"""A change of an accepted order is another order in its place: linked, once, and never over somebody's head."""

from dataclasses import replace
from datetime import date

import pytest
from django.db import IntegrityError, transaction

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job, Run
from foundation.actor import Actor
from foundation.errors import NotPermitted, Stale
from orders import identity_decisions, replacing, selectors, services
from orders.errors import InvalidOrder, OrderConflict
from orders.models import Intake, Order
from orders.requests import OrderRequest
from tests.factories import make_actor, make_order, make_organisation, make_ready_intake, make_request
from tests.forging import forge
from tests.orders.people import check_of, seen

pytestmark = pytest.mark.django_db


def another(order: Order, **changes: object) -> OrderRequest:
    """The same order on a new check of its file, with some changes."""
    intake = make_ready_intake(test_version=order.test_version, organisation=order.ordering_organisation)
    request = make_request(intake, **changes)
    number = order.patient.identifiers.get().value
    same = replace(request.patient, mrn=number, given_name=order.patient.given_name, family_name=order.patient.family_name)
    return replace(request, patient=same, **changes)  # type: ignore[arg-type]


def accessioner(order: Order) -> Actor:
    return make_actor(role=Role.ACCESSIONER, organisation=order.ordering_organisation)


def put_in_place(order: Order, actor: Actor | None = None, request: OrderRequest | None = None, **changes: object) -> Order:
    words = str(changes.pop("words", "agreed by telephone"))
    return replacing.replace(
        actor=actor or accessioner(order), request=request or another(order, **changes), replaced=order, words=words,
        expected_edits=order.edits,
    )  # fmt: skip


def test_the_replacement_is_accepted_and_what_it_replaces_is_cancelled_with_it() -> None:
    order = make_order()
    new = put_in_place(order, indication="as agreed by telephone")
    order.refresh_from_db()
    assert (new.state, new.replaces_id, order.state, order.cancelled_reason) == (
        "accepted", order.pk, "cancelled", f"Replaced by order {new.accession}: agreed by telephone",
    )  # fmt: skip
    assert set(Job.objects.filter(run__order_id=order.pk).values_list("state", flat=True)) == {"cancelled"}
    assert set(Job.objects.filter(run__order_id=new.pk).values_list("state", flat=True)) == {"queued"}
    codes = Event.objects.filter(object_id=str(order.pk), reason="order.replaced").order_by("id")
    assert list(codes.values_list("action", flat=True)) == ["state.cancelled", "order.replaced"]


def test_a_replacement_says_what_is_changed_and_why() -> None:
    order = make_order()
    with pytest.raises(InvalidOrder) as refused:
        put_in_place(order, words=" ")
    assert list(refused.value.fields) == ["replaces_reason"] and not Order.objects.filter(replaces=order).exists()


def test_asking_twice_places_one_replacement() -> None:
    order = make_order()
    request, actor = another(order), accessioner(order)
    assert put_in_place(order, actor, request) == put_in_place(order, actor, request)
    assert Run.objects.count() == 2 and Event.objects.filter(action="order.replaced").count() == 1


@pytest.mark.parametrize("own", [True, False])
def test_a_stat_replacement_under_a_taken_number_is_refused_and_stops_nothing(own: bool) -> None:
    order = make_order(priority="stat", placer_number="W-1" if own else "")
    if not own:
        make_order(intake=make_ready_intake(organisation=order.ordering_organisation), placer_number="W-1")
    with pytest.raises(OrderConflict, match=r"(?i)leave it out|leave the number out"):
        put_in_place(order, priority="stat", stat_reason="sepsis", placer_number="W-1")
    order.refresh_from_db()
    assert (order.state, Order.objects.filter(replaces=order).exists()) == ("accepted", False)


def test_the_replaced_order_goes_on_until_the_replacement_is_accepted() -> None:
    order = make_order(priority="stat")
    request = another(order)
    request = replace(request, patient=replace(request.patient, birth_date=date(1971, 1, 31)))
    new = put_in_place(order, request=request)
    assert put_in_place(order, request=request) == new
    order.refresh_from_db()
    assert (new.attention, order.state) == ("identity.mismatch", "accepted")
    assert not Event.objects.filter(action="order.replaced").exists()
    check = check_of(new)
    identity_decisions.statement_wrong(check=check, words="asked the ward", actor=accessioner(new), expected=seen(check))
    order.refresh_from_db()
    assert (order.state, order.cancelled_reason) == ("cancelled", f"Replaced by order {new.accession}: agreed by telephone")
    assert Event.objects.get(action="order.replaced").object_id == str(order.pk)


def test_an_order_is_replaced_once() -> None:
    order = make_order()
    put_in_place(order)
    with pytest.raises(replacing.Replaced, match="has replaced this one already"):
        put_in_place(order)
    with pytest.raises(IntegrityError, match="order_replaced_once"):
        forge(make_order(), replaces=order)


@pytest.mark.parametrize("ended", ["rejected", "cancelled"])
def test_an_order_whose_replacement_ended_before_it_was_accepted_is_replaced_again(ended: str) -> None:
    order = make_order()
    request = another(order)
    request = replace(request, patient=replace(request.patient, birth_date=date(1971, 1, 31)))
    parked = put_in_place(order, request=request)
    if ended == "rejected":
        check = check_of(parked)
        identity_decisions.reject(check=check, words="nobody knows", actor=accessioner(parked), expected=seen(check))
    else:
        services.cancel(actor=accessioner(parked), order=parked, reason="a slip", expected_edits=parked.edits)
    assert put_in_place(order, request=request) == parked  # sent again, it is what it was
    new = put_in_place(order)
    order.refresh_from_db()
    assert (order.state, order.cancelled_reason) == ("cancelled", f"Replaced by order {new.accession}: agreed by telephone")
    links = selectors.linked(accessioner(order), order)
    assert (links.successor, links.given_up, Order.objects.get(pk=parked.pk).replaces) == (new, [parked], order)
    told = Event.objects.filter(object_id=str(order.pk), action__startswith="order.replace").order_by("id")
    assert [(one.action, one.facts["by"]) for one in told] == [
        ("order.replacement_ended", str(parked.pk)), ("order.replaced", str(new.pk)),
    ]  # fmt: skip


def test_an_order_that_somebody_changed_meanwhile_is_not_replaced() -> None:
    order = make_order()
    Order.objects.filter(pk=order.pk).update(edits=5)
    with pytest.raises(Stale):
        put_in_place(order)
    assert Order.objects.count() == 1


def test_a_cancelled_order_is_not_replaced() -> None:
    order = make_order()
    services.cancel(actor=accessioner(order), order=order, reason="placed twice", expected_edits=order.edits)
    order.refresh_from_db()
    with pytest.raises(replacing.NotReplaceable):
        put_in_place(order)


def test_a_reported_order_stays_reported_and_is_linked() -> None:
    order = make_order()
    forge(order, state="reported")
    new = put_in_place(order)
    order.refresh_from_db()
    assert (order.state, order.replacements.get()) == ("reported", new)


@pytest.mark.parametrize("role", [Role.SERVICE, Role.REVIEWER])  # may place but not cancel; may neither
def test_who_may_not_place_and_cancel_replaces_nothing(role: Role) -> None:
    order = make_order()
    actor = make_actor(role=role, organisation=order.ordering_organisation)
    assert not replacing.may_replace(actor, order)
    with pytest.raises(NotPermitted):
        put_in_place(order, actor)
    order.refresh_from_db()
    assert order.state == "accepted"


def test_an_order_is_replaced_by_one_of_the_same_organisation() -> None:
    order, elsewhere = make_order(), make_ready_intake(organisation=make_organisation())
    actor = accessioner(order)
    both = replace(actor, grants={verb: homes | {elsewhere.ordering_organisation_id} for verb, homes in actor.grants.items()})
    with pytest.raises(InvalidOrder):
        put_in_place(order, both, make_request(elsewhere))


def test_what_was_stated_and_what_is_replaced_stay_as_they_were_placed() -> None:
    order = make_order()
    assert order.stated["mrn"] == order.stated_mrn and order.stated["birth_date"] == "1970-01-31"
    for change in ({"stated": {}}, {"stated_mrn": "7"}, {"replaces": make_order()}):
        with pytest.raises(IntegrityError, match="orders_order is pinned"), transaction.atomic():
            Order.objects.filter(pk=order.pk).update(**change)


PINNED = ["patient", "specimen", "test_version", "intake", "ordering_organisation", "performing_laboratory"]


@pytest.mark.parametrize("column", PINNED)
def test_patient_specimen_test_and_inputs_of_an_accepted_order_cannot_be_exchanged(column: str) -> None:
    order, other = make_order(), make_order()
    value = Intake.objects.get(pk=make_ready_intake().pk) if column == "intake" else getattr(other, column)
    with pytest.raises(IntegrityError, match="orders_order is pinned"), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(**{column: value})
