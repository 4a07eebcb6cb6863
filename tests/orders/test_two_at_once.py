"""Two people do the same at the same moment, the second while the transaction of the first is open: one effect, and a clear answer.

Each deed runs on a connection of its own; the first commits when the database says that the second waits for a lock of its.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event as Moment
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction

from accounts.roles import Role
from audit.models import Event
from casefile import drafts
from casefile.models import Draft
from dashboard import placing
from dashboard.drafting import Kept
from engine_queue.models import Run
from foundation import clock
from foundation.errors import HelicaseError, Stale
from orders import delays, identity_decisions, merging, reception, rejection, services, several, urgency
from orders.models import DelayNotice, Intake, Merge, Order, PatientIdentifier
from orders.reception import Arrival
from orders.several import Wanted
from tests.engine_queue.rows import in_thread_of_its_own
from tests.factories import make_actor, make_order, make_ready_intake, make_request
from tests.orders.people import accessioner, check_of, contradicting, seen, two_records

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
PATIENCE = 10.0  # seconds
UTC = ZoneInfo("UTC")
Deed = Callable[[], object]


@pytest.fixture(autouse=True)
def committed(clone_db: str, valkey_url: str) -> Iterator[None]:
    yield


def answer(deed: Deed) -> str:
    """Blank, or what the person is told."""
    try:
        deed()
    except HelicaseError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def one_after_the_other(first: Deed, second: Deed) -> tuple[str, str]:
    """What both are told; the second has begun, and waits, before the first commits."""
    held, may_commit = Moment(), Moment()

    def hold() -> str:
        try:
            with transaction.atomic():
                told = answer(first)
                held.set()
                assert may_commit.wait(PATIENCE)
            return told
        finally:
            held.set()

    with ThreadPoolExecutor(2) as pool:
        holder = pool.submit(in_thread_of_its_own, hold)
        assert held.wait(PATIENCE)
        other = pool.submit(in_thread_of_its_own, answer, second)
        try:
            until_somebody_waits()
        finally:
            may_commit.set()
        return str(holder.result(PATIENCE)), str(other.result(PATIENCE))


def until_somebody_waits() -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        with connection.cursor() as cursor:
            cursor.execute(WAITING)
            if cursor.fetchone()[0]:
                return
    pytest.fail("the second never met the first")


def merge(survivor: Order, other: Order) -> Deed:
    actor = accessioner(survivor)
    given = {"survivor": survivor.patient, "merged": other.patient, "words": "one person", "actor": actor, "expected": (1, 1)}
    return lambda: merging.merge(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("crosswise", [False, True])
def test_two_merges_of_the_same_records_are_one(crosswise: bool) -> None:
    first, other = two_records()
    again = merge(other, first) if crosswise else merge(first, other)
    told = one_after_the_other(merge(first, other), again)
    assert told[0] == "" and told[1].startswith("Stale: ")
    assert Merge.objects.get().survivor == first.patient
    assert set(Order.objects.values_list("patient", flat=True)) == {first.patient_id}


def placing_for(order: Order, like: Order) -> Deed:
    """An order under the number of one record with the details of another."""
    intake = make_ready_intake(test_version=order.test_version, organisation=order.ordering_organisation)
    details = replace(make_request(intake).patient, mrn=order.stated_mrn, **{
        name: getattr(like.patient, name) for name in ("family_name", "given_name", "birth_date", "sex")
    })  # fmt: skip
    actor = accessioner(order)
    return lambda: services.place(actor=actor, request=make_request(intake, patient=details))


def test_an_order_placed_while_its_record_is_merged_is_of_the_record_that_stays() -> None:
    first, other = two_records()
    assert one_after_the_other(merge(first, other), placing_for(other, like=first)) == ("", "")
    assert Order.objects.count() == 3 and set(Order.objects.values_list("patient", flat=True)) == {first.patient_id}
    assert Run.objects.count() == 3 and not PatientIdentifier.objects.filter(patient=other.patient).exists()


def test_a_merge_that_waits_for_an_order_is_asked_to_look_again() -> None:
    first, other = two_records()
    told = one_after_the_other(placing_for(other, like=other), merge(first, other))
    assert told[0] == "" and told[1].startswith("Stale: ") and not Merge.objects.exists()
    merge(first, other)()
    assert set(Order.objects.values_list("patient", flat=True)) == {first.patient_id}


@pytest.mark.parametrize("several_first", [True, False])
def test_of_one_deed_on_many_orders_and_another_on_one_of_them_the_first_counts(several_first: bool) -> None:
    order, beside = two_records()
    people = [make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory) for _ in range(2)]
    outcomes: list[several.Outcome] = []
    rows, wanted = [(one.pk, one.edits) for one in (beside, order)], Wanted("cancel", reason="ordered twice")

    def cancel_both() -> None:
        outcomes.extend(several.act(actor=people[0], rows=rows, wanted=wanted))

    def promote() -> None:
        urgency.change_priority(order=order, priority="asap", reason="worse", actor=people[1], expected_edits=order.edits)

    if several_first:
        told = one_after_the_other(cancel_both, promote)
        assert told[0] == "" and told[1].startswith("Closed: ") and [one.done for one in outcomes] == [True, True]
    else:
        assert one_after_the_other(promote, cancel_both) == ("", "")
        assert [(one.done, one.words) for one in outcomes] == [(True, ""), (False, str(Stale(code="state.stale")))]
    order.refresh_from_db()
    assert (order.state, order.priority) == (("cancelled", beside.priority) if several_first else ("accepted", "asap"))
    assert Run.objects.get(order_id=order.pk).state == ("cancelled" if several_first else "queued")


def test_one_call_that_two_people_write_down_is_one_notice() -> None:
    order = make_order()
    told_at = clock.now()
    people = [make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory) for _ in range(2)]
    calls = [
        lambda one=one, whom=whom: delays.tell(order=order, told=whom, means="phone", words="", told_at=told_at, actor=one)  # type: ignore[misc]
        for one, whom in zip(people, ("Dr Ordering, ward 3", "dr Ordering,  ward 3"), strict=True)
    ]
    told = one_after_the_other(*calls)
    assert told[0] == "" and told[1] == f"Told: {people[0].name} has written this down already. It is kept once."
    assert DelayNotice.objects.count() == Event.objects.filter(action="order.delay_told").count() == 1
    delays.tell(order=order, told="Dr Ordering, ward 3", means="phone", words="", told_at=clock.now(), actor=people[1])
    assert DelayNotice.objects.count() == 2


def test_of_two_decisions_about_an_identity_the_first_stands() -> None:
    known = make_order()
    order = contradicting(known)
    check, people = check_of(order), [accessioner(order), accessioner(order)]
    said = {"check": check, "words": "asked the ward", "expected": seen(check)}
    told = one_after_the_other(
        lambda: identity_decisions.statement_wrong(actor=people[0], **said),  # type: ignore[arg-type]
        lambda: identity_decisions.another_person(actor=people[1], system="", number="77-9999", **said),  # type: ignore[arg-type]
    )
    assert told == ("", f"Settled: {people[0].name} has settled this question already.")
    assert Order.objects.get(pk=order.pk).patient == known.patient and Run.objects.filter(order_id=order.pk).count() == 1
    assert not PatientIdentifier.objects.filter(value="77-9999").exists()


@pytest.mark.parametrize("rejects", [False, True])
def test_a_tube_that_two_people_scan_is_received_once(rejects: bool) -> None:
    order = make_order()
    people = [make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory) for _ in range(2)]
    came = [
        lambda one=one: reception.receive(order=order, arrival=Arrival(clock.now(), "acceptable"), actor=one)  # type: ignore[misc]
        for one in people
    ]
    if rejects:
        gone = [
            lambda one=one: rejection.reject(order=order, reason="specimen.leaked", words="", actor=one)  # type: ignore[misc]
            for one in people
        ]
        told = one_after_the_other(gone[0], gone[1])
        assert told[0] == "" and told[1].startswith("Rejected: ") and answer(came[0]).startswith("Came: This specimen was rejected")
    else:
        told = one_after_the_other(came[0], came[1])
        assert told[0] == "" and told[1].startswith(f"Came: This specimen was received before by {people[0].name}.")
    assert Event.objects.filter(object_id=str(order.pk), action__startswith="order.specimen_").count() == 1


@pytest.mark.parametrize("other_input", [False, True])
def test_a_draft_that_two_windows_place_is_one_order(other_input: bool) -> None:
    intake = make_ready_intake()
    second = (
        make_ready_intake(test_version=intake.test_version, organisation=intake.ordering_organisation) if other_input else intake
    )
    actor, kept = make_actor(role=Role.ACCESSIONER, organisation=intake.ordering_organisation), uuid4()
    drafts.save(actor=actor, wanted=drafts.Save(kept, intake.ordering_organisation_id, {"mrn": "77"}, window="one"))
    placed: list[Order] = []

    request = make_request(intake)
    page = placing.FormPage(placing.OrderForm(tests=[], organisations=[], zone=UTC), draft=Kept(kept))

    def place(taken: Intake) -> Deed:
        asked = replace(request, intake_id=taken.pk)
        return lambda: placed.append(placing._place(actor, page, asked, frozenset()))

    told = one_after_the_other(place(intake), place(second))
    order = Order.objects.get()
    again = f"Placed: This draft was placed as order {order}. To place another, begin anew."
    assert told == ("", again if other_input else "") and set(placed) == {order}
    assert (Draft.objects.get().order, Run.objects.count()) == (order, 1)
