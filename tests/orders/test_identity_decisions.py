"""Who the patient of a parked order is: what each decision changes, what it keeps, and who comes too late."""

from datetime import date

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.roles import Role
from audit.models import Event
from engine_queue.models import Job, Run
from foundation.errors import HelicaseError, NotPermitted, Stale
from orders import identity_decisions, services
from orders.errors import InvalidOrder
from orders.models import IdentityCheck, Order, Patient, PatientChange, PatientIdentifier
from orders.moving import move
from tests.factories import make_actor, make_laboratory, make_order, make_organisation, make_ready_intake
from tests.orders.people import accessioner, check_of, contradicting, seen

pytestmark = pytest.mark.django_db


@pytest.fixture
def first() -> Order:
    return make_order()


@pytest.fixture
def order(first: Order) -> Order:
    return contradicting(first)


def decide(how: str, order: Order, **said: object):
    check = check_of(order)
    given = {"check": check, "words": "asked the ward", "actor": accessioner(order), "expected": seen(check), **said}
    return getattr(identity_decisions, how)(**given)


def now(order: Order) -> Order:
    return Order.objects.select_related("patient", "specimen").get(pk=order.pk)


def test_the_statement_was_wrong_the_order_goes_to_the_known_record_and_runs(first: Order, order: Order) -> None:
    decide("statement_wrong", order)
    found = now(order)
    assert (found.patient, found.specimen.patient, found.state, found.attention) == (first.patient, first.patient, "accepted", "")
    assert Patient.objects.get(pk=first.patient_id).birth_date == date(1970, 1, 31)
    assert found.stated["birth_date"] == "1971-01-31" and Run.objects.filter(order_id=order.pk).count() == 1


def test_the_record_was_wrong_it_is_corrected_and_keeps_what_it_said(first: Order, order: Order) -> None:
    decide("record_wrong", order, fields=["birth_date"])
    known, change = Patient.objects.get(pk=first.patient_id), PatientChange.objects.get()
    assert (known.birth_date, known.edits, now(order).patient, now(order).state) == (date(1971, 1, 31), 2, known, "accepted")
    assert (change.before["birth_date"], change.after["birth_date"], change.words) == ("1970-01-31", "1971-01-31", "asked the ward")


def test_only_the_chosen_fields_of_the_record_were_wrong(first: Order) -> None:
    order = contradicting(first, family_name="Married", birth_date=date(1971, 1, 31))
    with pytest.raises(InvalidOrder):
        decide("record_wrong", order, fields=["sex"])
    decide("record_wrong", order, fields=["family_name"])
    known = Patient.objects.get(pk=first.patient_id)
    assert (known.family_name, known.birth_date) == ("Married", date(1970, 1, 31))


def test_another_person_gets_the_right_number_and_the_order_runs(first: Order, order: Order) -> None:
    assert decide("another_person", order, system="", number="NEW-7") is None
    found = now(order)
    assert (found.state, found.patient.identifiers.get().value, found.stated_mrn) == ("accepted", "NEW-7", order.stated_mrn)
    assert found.patient != first.patient


def test_a_number_that_is_taken_by_somebody_else_asks_again_against_him(first: Order, order: Order) -> None:
    third = make_order(intake=make_ready_intake(organisation=first.ordering_organisation))
    taken = third.patient.identifiers.get()
    again = decide("another_person", order, system="", number=taken.value)
    assert (again.known, again.state, now(order).state) == (third.patient, "open", "submitted")
    assert now(order).attention == "identity.mismatch" and IdentityCheck.objects.filter(state="asked_again").count() == 1
    decide("statement_wrong", order)
    assert now(order).patient == third.patient


def test_a_number_of_somebody_with_these_very_details_leads_to_him(first: Order) -> None:
    third = make_order(intake=make_ready_intake(organisation=first.ordering_organisation))
    same = {"family_name": third.patient.family_name, "given_name": third.patient.given_name, "sex": third.patient.sex}
    order = contradicting(first, **same)
    decide("another_person", order, system="", number=third.patient.identifiers.get().value)
    assert (now(order).patient, now(order).state) == (third.patient, "accepted")


def test_the_number_of_the_known_record_is_no_number_of_another_person(order: Order) -> None:
    with pytest.raises(InvalidOrder):
        decide("another_person", order, system="", number=order.stated_mrn)


def test_what_cannot_be_settled_is_rejected(order: Order) -> None:
    decide("reject", order)
    assert (now(order).state, now(order).cancelled_reason, Run.objects.filter(order_id=order.pk).count()) == (
        "rejected", "asked the ward", 0,
    )  # fmt: skip


def test_a_stat_order_that_is_settled_goes_before_everything_else(first: Order) -> None:
    order = contradicting(first, priority="stat", stat_reason="")
    decide("statement_wrong", order)
    assert now(order).attention == "stat.reason-missing" and Job.objects.get(run__order_id=order.pk).rank == 0


def test_the_second_of_two_decisions_is_refused_in_words(order: Order) -> None:
    check = check_of(order)
    decide("statement_wrong", order)
    with pytest.raises(identity_decisions.Settled, match="has settled this question already"):
        identity_decisions.reject(check=check, words="x", actor=accessioner(order), expected=seen(check))
    assert Run.objects.filter(order_id=order.pk).count() == 1


@pytest.mark.parametrize("stale", [(0, 1), (1, 0)])
def test_a_decision_about_what_has_changed_since_is_refused(order: Order, stale: tuple[int, int]) -> None:
    with pytest.raises(Stale):
        decide("statement_wrong", order, expected=stale)


def test_every_decision_needs_words(order: Order) -> None:
    for how, said in DECISIONS.items():
        with pytest.raises(InvalidOrder):
            decide(how, order, words=" ", **said)


DECISIONS = {
    "statement_wrong": {},
    "record_wrong": {"fields": ["birth_date"]},
    "another_person": {"system": "", "number": "7"},
    "reject": {},
}


@pytest.mark.parametrize("how", DECISIONS)
@pytest.mark.parametrize("role", [Role.REQUESTER, Role.ANALYST, Role.DIRECTOR])
def test_who_may_not_edit_identities_decides_nothing(order: Order, how: str, role: Role) -> None:
    actor = make_actor(role=role, organisation=order.ordering_organisation)
    with pytest.raises(NotPermitted):
        decide(how, order, actor=actor, **DECISIONS[how])


def test_the_laboratory_settles_identities_but_corrects_no_record_of_a_hospital() -> None:
    first = make_order(intake=make_ready_intake(organisation=make_organisation()))
    order = contradicting(first)
    of_the_laboratory = make_actor(role=Role.ACCESSIONER, organisation=order.performing_laboratory)
    with pytest.raises(NotPermitted, match="belongs to another organisation"):
        decide("record_wrong", order, fields=["birth_date"], actor=of_the_laboratory)
    with pytest.raises(NotPermitted):
        decide("reject", order, actor=make_actor(role=Role.ACCESSIONER, organisation=make_laboratory()))
    decide("statement_wrong", order, actor=of_the_laboratory)
    assert now(order).state == "accepted"


def test_a_cancelled_order_leaves_no_question_open(order: Order) -> None:
    services.cancel(actor=accessioner(order), order=order, reason="placed twice", expected_edits=order.edits)
    assert IdentityCheck.objects.get().state == "void"


def test_events_hold_ids_and_codes_and_nothing_about_the_patient(order: Order) -> None:
    decide("record_wrong", order, fields=["birth_date"])
    told = str(list(Event.objects.values_list("action", "reason", "facts")))
    assert "identity.record-wrong" in told
    assert not [word for word in ("asked the ward", "1971", "1970", "Maria", order.stated_mrn) if word in told]


def test_a_retired_number_asks_too(first: Order) -> None:
    PatientIdentifier.objects.update(retired_at=first.placed_at, retired_words="typed wrongly")
    order = contradicting(first)
    assert now(order).state == "submitted"
    decide("another_person", order, system="", number=order.stated_mrn)
    assert (now(order).state, PatientIdentifier.objects.filter(value=order.stated_mrn).count()) == ("accepted", 2)


CHANGES = [
    "UPDATE orders_order SET patient_id = '{other}' WHERE id = '{order}'",
    "UPDATE orders_specimen SET patient_id = '{other}' WHERE patient_id = '{patient}'",
    "UPDATE orders_patientidentifier SET patient_id = '{other}' WHERE patient_id = '{patient}'",
    "UPDATE orders_patient SET birth_date = '1900-01-01' WHERE id = '{patient}'",
    "UPDATE orders_patientidentifier SET value = '7' WHERE patient_id = '{patient}'",
]


@pytest.mark.parametrize("sql", CHANGES)
def test_no_row_changes_its_patient_and_no_record_its_name_without_a_decision(first: Order, sql: str) -> None:
    other = make_order(intake=make_ready_intake(organisation=first.ordering_organisation))
    with pytest.raises(IntegrityError, match="pinned"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.format(other=other.patient_id, order=first.pk, patient=first.patient_id))


def test_a_move_that_no_decision_bears_out_is_not_written(first: Order, order: Order) -> None:
    decide("statement_wrong", order)
    check = IdentityCheck.objects.get()
    with pytest.raises(IntegrityError, match="no decision moves this row"), transaction.atomic():
        move({"order": [first.pk]}, origin=first.patient, target=order.patient, check=check)


def test_a_refusal_changes_nothing(order: Order) -> None:
    before = IdentityCheck.objects.get()
    for how, said in DECISIONS.items():
        with pytest.raises(HelicaseError):
            decide(how, order, expected=(9, 9), **said)
    assert (IdentityCheck.objects.get().state, now(order).edits) == (before.state, order.edits)
