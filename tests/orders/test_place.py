"""Placing an order: all or nothing, once, and only what is right."""

from dataclasses import replace
from datetime import date, timedelta
from uuid import uuid4

import pytest
from django.db import transaction

from accounts.roles import Role
from audit.models import Event
from engine_queue import attention, settling
from engine_queue.models import Job, Run
from foundation import clock
from foundation.errors import NotPermitted, Stale
from orders import services
from orders.errors import InvalidOrder, OrderConflict
from orders.models import Order, Patient, PatientIdentifier
from tests import factories

pytestmark = pytest.mark.django_db


def _actor(intake: object, role: Role = Role.ACCESSIONER) -> object:
    return factories.make_actor(role=role, organisation=intake.ordering_organisation)  # type: ignore[attr-defined]


def _objections(**changes: object) -> dict[str, list[str]]:
    intake = factories.make_ready_intake()
    with pytest.raises(InvalidOrder) as refused:
        services.place(actor=_actor(intake), request=factories.make_request(intake, **changes))  # type: ignore[arg-type]
    assert not Order.objects.exists()
    return refused.value.fields


def test_an_order_its_run_its_jobs_and_its_events_come_together() -> None:
    order = factories.make_order(variants=60)
    run = Run.objects.get(order_id=order.pk)
    assert (order.state, run.state, run.items_total, run.jobs.count()) == ("accepted", "queued", 60, 3)
    assert set(Event.objects.filter(object_id=str(order.pk)).values_list("action", flat=True)) == {"order.placed", "state.accepted"}


def test_a_large_run_is_cut_into_jobs_lazily() -> None:
    order = factories.make_order(variants=500)
    run = Run.objects.get(order_id=order.pk)
    assert (run.jobs.count(), run.items_cut) == (16, 400)
    assert [(j.first, j.last) for j in run.jobs.order_by("first")[:2]] == [(0, 24), (25, 49)]


def test_a_run_is_pinned_to_what_scores_it() -> None:
    order = factories.make_order()
    run, test = Run.objects.get(order_id=order.pk), order.test_version
    assert (run.test_version, run.deployment, run.model_version) == (test, test.deployment, test.deployment.model_version)
    assert (run.protocol, run.reference_digest) == (test.protocol, test.reference.digest)


@pytest.mark.parametrize(("priority", "rank"), [("stat", 0), ("asap", 1), ("urgent", 2), ("routine", 3)])
def test_the_priority_reaches_the_jobs_unchanged(priority: str, rank: int) -> None:
    factories.make_order(priority=priority)
    assert set(Job.objects.values_list("rank", flat=True)) == {rank}


def test_the_clocks_start_at_acceptance() -> None:
    order = factories.make_order(priority="stat")
    assert order.accepted_at and order.result_due and order.report_due
    assert (order.result_due - order.accepted_at, order.report_due - order.accepted_at) == (
        timedelta(minutes=1),
        timedelta(minutes=15),
    )


def test_submitting_twice_places_one_order() -> None:
    intake = factories.make_ready_intake()
    actor, request = _actor(intake), factories.make_request(intake)
    first, second = (services.place(actor=actor, request=request) for _ in range(2))  # type: ignore[arg-type]
    assert first == second
    assert (Order.objects.count(), Run.objects.count()) == (1, 1)


def test_the_same_upload_with_other_details_is_a_conflict() -> None:
    intake = factories.make_ready_intake()
    actor, request = _actor(intake), factories.make_request(intake)
    services.place(actor=actor, request=request)  # type: ignore[arg-type]
    with pytest.raises(OrderConflict):
        services.place(actor=actor, request=replace(request, indication="something else"))  # type: ignore[arg-type]


def test_a_placer_number_stands_for_one_order() -> None:
    intake, other = (factories.make_ready_intake() for _ in range(2))
    other.ordering_organisation = intake.ordering_organisation
    other.save()
    actor, number = _actor(intake), {"placer_system": "ward", "placer_number": "55-201"}
    services.place(actor=actor, request=factories.make_request(intake, **number))  # type: ignore[arg-type]
    with pytest.raises(OrderConflict):
        services.place(actor=actor, request=factories.make_request(other, **number))  # type: ignore[arg-type]


def test_a_stat_order_under_a_taken_number_is_parked_and_not_lost() -> None:
    intake, other = (factories.make_ready_intake() for _ in range(2))
    other.ordering_organisation = intake.ordering_organisation
    other.save()
    actor, number = _actor(intake), {"placer_system": "ward", "placer_number": "55-201"}
    first = services.place(actor=actor, request=factories.make_request(intake, **number))  # type: ignore[arg-type]
    urgent = factories.make_request(other, priority="stat", stat_reason="sepsis", **number)
    parked = services.place(actor=actor, request=urgent)  # type: ignore[arg-type]
    assert (parked.state, parked.attention, parked.conflicts_with) == ("submitted", "order.conflict", first)
    assert not Run.objects.filter(order_id=parked.pk).exists()
    assert services.place(actor=actor, request=urgent) == parked  # type: ignore[arg-type]


def test_nothing_stays_behind_when_the_transaction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = factories.make_ready_intake()
    monkeypatch.setattr(services.cutting, "AHEAD", "not a number")
    with pytest.raises(TypeError), transaction.atomic():
        services.place(actor=_actor(intake), request=factories.make_request(intake))  # type: ignore[arg-type]
    assert (Order.objects.count(), Patient.objects.count(), Run.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.OPERATOR, Role.ADMINISTRATOR, Role.MODEL_STEWARD, Role.REVIEWER])
def test_roles_without_the_verb_place_nothing(role: Role) -> None:
    intake = factories.make_ready_intake()
    with pytest.raises(NotPermitted):
        services.place(actor=_actor(intake, role), request=factories.make_request(intake))  # type: ignore[arg-type]


def test_another_organisations_upload_does_not_exist() -> None:
    intake = factories.make_ready_intake()
    stranger = factories.make_actor(role=Role.REQUESTER, organisation=(home := factories.make_organisation()))
    with pytest.raises(InvalidOrder):
        services.place(actor=stranger, request=factories.make_request(intake, ordering_organisation_id=home.pk))


def test_an_unknown_priority_never_becomes_routine() -> None:
    assert "priority" in _objections(priority="bogus")


def test_a_stat_order_without_a_reason_stays_stat_and_is_flagged() -> None:
    order = factories.make_order(priority="stat", stat_reason=" ")
    assert (order.priority, order.attention, order.state) == ("stat", "stat.reason-missing", "accepted")


def test_every_objection_is_collected_at_once() -> None:
    intake = factories.make_ready_intake()
    request = factories.make_request(intake)
    patient = replace(request.patient, mrn=" ", family_name="x" * 121, birth_date=date(1850, 1, 1), sex="?")
    specimen = replace(request.specimen, identifier="", collected_at=clock.now() + timedelta(hours=1))
    fields = _objections(patient=patient, specimen=specimen)
    assert set(fields) >= {"mrn", "family_name", "birth_date", "sex", "specimen_identifier", "collected_at"}


def test_a_file_with_several_samples_needs_the_confirmed_choice() -> None:
    intake = factories.make_ready_intake()
    intake.samples, intake.sample = ["mother", "child"], "child"
    intake.save()
    actor = _actor(intake)
    with pytest.raises(InvalidOrder) as refused:
        services.place(actor=actor, request=factories.make_request(intake, sample_confirmed="mother"))  # type: ignore[arg-type]
    assert "sample" in refused.value.fields
    assert services.place(actor=actor, request=factories.make_request(intake, sample_confirmed="child"))  # type: ignore[arg-type]


def test_an_upload_that_was_not_found_usable_cannot_be_ordered_on() -> None:
    intake = factories.make_ready_intake(variants=1)
    intake.counts = {"accepted": 0}
    intake.save()
    with pytest.raises(InvalidOrder):
        factories.make_order(intake=intake)


def test_a_test_that_changed_since_the_check_asks_for_a_new_upload() -> None:
    intake = factories.make_ready_intake()
    intake.reference_digest = "0" * 64
    intake.save()
    with pytest.raises(InvalidOrder):
        factories.make_order(intake=intake)


def test_a_known_number_with_the_same_person_is_that_person() -> None:
    first = factories.make_order()
    details = factories.make_request(first.intake).patient
    same = replace(details, mrn=first.patient.identifiers.get().value, given_name=f" {first.patient.given_name.upper()} ")
    intake = factories.make_ready_intake(organisation=first.ordering_organisation)
    assert factories.make_order(intake=intake, patient=same).patient == first.patient


@pytest.mark.parametrize(
    "change",
    [{"birth_date": date(1971, 1, 31)}, {"sex": "male"}, {"family_name": "Other"}, {"given_name": "Other"}],
    ids=lambda c: next(iter(c)),
)
def test_a_known_number_with_another_person_is_parked_and_nothing_is_overwritten(change: dict[str, object]) -> None:
    first = factories.make_order()
    known = first.patient.identifiers.get()
    columns = Patient.objects.values().get(pk=first.patient_id)
    said = {"mrn": known.value, "given_name": first.patient.given_name, **change}
    details = replace(factories.make_request(first.intake).patient, **said)  # type: ignore[arg-type]
    second = factories.make_order(intake=factories.make_ready_intake(organisation=first.ordering_organisation), patient=details)
    assert (second.state, second.attention, Run.objects.filter(order_id=second.pk).count()) == ("submitted", "identity.mismatch", 0)
    assert (second.patient == first.patient, second.stated_mrn) == (False, known.value)
    assert PatientIdentifier.objects.get(value=known.value).patient == first.patient
    assert Patient.objects.values().get(pk=first.patient_id) == columns


def test_results_that_come_in_do_not_make_a_cancellation_stale_but_a_persons_change_does() -> None:
    order = factories.make_order()
    actor = factories.make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    Order.objects.filter(pk=order.pk).update(version=order.version + 3, items_done=4)
    with pytest.raises(Stale):
        services.cancel(actor=actor, order=order, reason="no longer needed", expected_edits=order.edits - 1)
    services.cancel(actor=actor, order=order, reason="no longer needed", expected_edits=order.edits)
    order.refresh_from_db()
    assert (order.state, order.cancelled_reason, order.edits) == ("cancelled", "no longer needed", 2)


def test_cancelling_needs_a_reason_and_stops_the_jobs() -> None:
    order = factories.make_order()
    actor = factories.make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    with pytest.raises(InvalidOrder):
        services.cancel(actor=actor, order=order, reason=" ", expected_edits=order.edits)
    services.cancel(actor=actor, order=order, reason="wrong patient", expected_edits=order.edits)
    order.refresh_from_db()
    assert (order.state, Run.objects.get().state, Job.objects.get().state) == ("cancelled", "cancelled", "cancelled")
    assert order.ended_at is not None


def test_an_unknown_upload_is_an_objection_and_no_error() -> None:
    assert "intake" in _objections(intake_id=uuid4())


def test_an_order_is_flagged_while_a_job_needs_a_person_and_freed_when_somebody_has_looked() -> None:
    order = factories.make_order()
    Job.objects.update(state="running", lease_owner="engine-1", attempt=1)
    run, job = Run.objects.get(), Job.objects.get()
    settling.give_back(run, job, worker="engine-1", reason="job.worker-died", attention="job.worker-died")
    order.refresh_from_db()
    assert order.attention == "job.worker-died"
    attention.resume(
        job, actor=factories.make_actor(role=Role.OPERATOR, organisation=order.performing_laboratory), reason="memory replaced"
    )
    order.refresh_from_db()
    assert (order.attention, Job.objects.get().attention) == ("", "")
