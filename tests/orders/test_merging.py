"""Two records of one person: what moves, what stays untouched, and the way back."""

from dataclasses import replace

import pytest

from accounts.roles import Role
from foundation.errors import NotPermitted, Stale
from orders import merging, patients
from orders.errors import InvalidOrder
from orders.merging import NotMergeable, NotUndoable
from orders.models import Merge, Move, Order, Patient, PatientIdentifier, Specimen
from orders.services import cancel
from reports import document
from reports.models import ReportVersion
from tests.factories import make_actor, make_order, make_ready_intake, make_request
from tests.orders.people import accessioner, contradicting, two_records
from tests.reports import signers
from tests.reports.cases import drafted, scored_order

pytestmark = pytest.mark.django_db


def merged(first: Order, other: Order, **said: object) -> Merge:
    given = {
        "survivor": first.patient, "merged": other.patient, "words": "same person, two admissions", "actor": accessioner(first),
        "expected": (1, 1), **said,
    }  # fmt: skip
    return merging.merge(**given)


def undo(merge: Merge, **said: object) -> None:
    given = {
        "merge": merge, "words": "two people after all", "expected_version": 1,
        "actor": make_actor(role=Role.ACCESSIONER, organisation=merge.survivor.organisation), **said,
    }  # fmt: skip
    merging.unmerge(**given)


def owners(*orders: Order) -> list[list[object]]:
    """Whose the order, its specimen and the number it states are."""
    rows = [Order.objects.select_related("specimen").get(pk=order.pk) for order in orders]
    numbers = {one.value: one.patient_id for one in PatientIdentifier.objects.all()}
    return [[row.patient_id, row.specimen.patient_id, numbers[row.stated_mrn]] for row in rows]


def placed_with(number: str, like: Order) -> Order:
    """A new order that states the details of one record under some number."""
    intake = make_ready_intake(test_version=like.test_version, organisation=like.ordering_organisation)
    details = replace(make_request(intake).patient, mrn=number, given_name=like.patient.given_name)
    return make_order(intake=intake, patient=details)


def test_a_merge_moves_numbers_specimens_and_orders_and_keeps_each_row_of_it() -> None:
    first, other = two_records()
    merge = merged(first, other)
    assert owners(first, other) == [[first.patient_id] * 3] * 2
    assert sorted(Move.objects.filter(merge=merge).values_list("kind", flat=True)) == ["identifier", "order", "specimen"]
    assert Patient.objects.filter(pk=other.patient_id).exists()


def test_undoing_moves_back_exactly_what_was_moved() -> None:
    first, other = two_records()
    before = owners(first, other)
    merge = merged(first, other)
    later = placed_with(first.stated_mrn, first)
    undo(merge)
    assert owners(first, other) == before and owners(later) == [[first.patient_id] * 3]
    assert Move.objects.filter(merge=merge, back=True).count() == 3


def test_a_new_order_with_a_number_of_the_merged_record_finds_the_survivor() -> None:
    first, other = two_records()
    merged(first, other)
    order = placed_with(other.stated_mrn, first)
    assert (order.patient, order.state) == (first.patient, "accepted")


def test_a_report_that_was_made_keeps_what_it_says() -> None:
    first, _ = two_records()
    scored = scored_order(intake=make_ready_intake(organisation=first.ordering_organisation))
    version = drafted(scored)
    content, digest = version.content, version.content_sha256
    merged(first, scored)
    version.refresh_from_db()
    assert (version.content, version.content_sha256) == (content, digest) and scored.patient.given_name in content


def test_a_report_that_was_issued_reads_the_same_after_a_merge_and_after_undoing_it() -> None:
    first, _ = two_records()
    order = scored_order(intake=make_ready_intake(organisation=first.ordering_organisation))
    issued = signers.issued(order, signers.laboratory_of(order))

    def said() -> object:
        version = ReportVersion.objects.get(pk=issued.pk)
        return version.state, version.content_sha256, document.compose(version)

    before = said()
    merge = merged(first, order)
    assert Order.objects.get(pk=order.pk).patient == first.patient and said() == before
    undo(merge)
    assert said() == before and order.patient.given_name in str(before)


def test_an_order_placed_since_under_a_moved_number_stands_against_undoing_until_it_is_closed() -> None:
    first, other = two_records()
    merge = merged(first, other)
    order = placed_with(other.stated_mrn, first)
    with pytest.raises(NotUndoable, match=order.accession):
        undo(merge)
    cancel(actor=accessioner(first), order=order, reason="unclear", expected_edits=order.edits)
    undo(merge)
    assert Merge.objects.get().state == "undone"


def test_a_merge_of_the_survivor_is_undone_first() -> None:
    first, other = two_records()
    third = make_order(intake=make_ready_intake(organisation=first.ordering_organisation))
    inner = merged(first, other)
    outer = merged(third, first, expected=(1, 2))
    with pytest.raises(NotUndoable, match="Undo that merge first"):
        undo(inner)
    undo(outer)
    undo(inner)
    assert owners(first, other) == [[first.patient_id] * 3, [other.patient_id] * 3]


def test_a_merge_is_undone_once() -> None:
    merge = merged(*two_records())
    undo(merge)
    with pytest.raises(NotUndoable, match="already"):
        undo(merge)


def test_an_open_identity_check_comes_first() -> None:
    first, other = two_records()
    waiting = contradicting(first)
    with pytest.raises(NotMergeable, match=waiting.accession):
        merged(first, other)


def test_what_is_no_second_record_of_the_same_organisation_is_refused() -> None:
    first, other = two_records()
    for wrong in (first, make_order()):
        with pytest.raises(NotMergeable):
            merged(first, wrong)
    merged(first, other)
    with pytest.raises(NotMergeable, match="merged into another record already"):
        merged(first, other, expected=(2, 2))


def test_a_merge_needs_words_the_right_and_records_as_they_were_seen() -> None:
    first, other = two_records()
    with pytest.raises(InvalidOrder):
        merged(first, other, words=" ")
    with pytest.raises(NotPermitted):
        merged(first, other, actor=make_actor(role=Role.DIRECTOR, organisation=first.ordering_organisation))
    with pytest.raises(Stale):
        merged(first, other, expected=(1, 2))
    assert not Move.objects.exists()


def test_a_merged_record_is_changed_no_more() -> None:
    first, other = two_records()
    merged(first, other)
    with pytest.raises(patients.MergedAway):
        patients.add_identifier(patient=other.patient, system="", value="9", type="MRN", actor=accessioner(first))


def test_a_patient_has_numbers_of_several_systems() -> None:
    order = make_order()
    for value in ("B-9", "B-9"):
        system = f"urn:other:{PatientIdentifier.objects.count()}"
        patients.add_identifier(patient=order.patient, system=system, value=value, type="National", actor=accessioner(order))
    intake = make_ready_intake(test_version=order.test_version, organisation=order.ordering_organisation)
    details = replace(make_request(intake).patient, mrn="B-9", mrn_system="urn:other:1", given_name=order.patient.given_name)
    again = make_order(intake=intake, patient=details)
    assert (again.patient, again.stated["mrn_system"]) == (order.patient, "urn:other:1")


def test_a_number_belongs_to_one_patient_of_an_organisation_and_is_free_when_it_is_retired() -> None:
    first, other = two_records()
    number, actor = other.patient.identifiers.get(), accessioner(first)
    with pytest.raises(patients.Taken):
        patients.add_identifier(patient=first.patient, system="", value=number.value, type="MRN", actor=actor)
    with pytest.raises(Exception, match="only number"):
        patients.retire_identifier(identifier=number, words="typed wrongly", actor=actor)
    patients.add_identifier(patient=other.patient, system="", value="right", type="MRN", actor=actor)
    patients.retire_identifier(identifier=number, words="typed wrongly", actor=actor)
    patients.add_identifier(patient=first.patient, system="", value=number.value, type="MRN", actor=actor)
    assert PatientIdentifier.objects.filter(value=number.value).count() == 2 and Specimen.objects.count() == 2
