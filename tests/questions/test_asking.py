"""Who asks what, as urgently as he may; what a question never is: STAT, of an order, or named like a patient."""

from datetime import timedelta
from uuid import uuid4, uuid5

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine_queue import settling
from engine_queue.models import Job, Run
from engine_queue.work import ItemScore
from foundation import clock
from foundation.errors import IllegalMove, NotFound, NotPermitted
from orders.models import PatientIdentifier
from orders.requests import SpecimenDetails
from questions import asking, foreseeing, selectors, services
from questions.errors import InvalidQuestion, QuestionConflict
from questions.models import Question
from registry.services import register_deployment
from tests.dashboard.people import logged_in
from tests.engine_queue.rows import scored, take, taken
from tests.factories import BASES, make_actor, make_laboratory, make_order, make_organisation, make_ready_intake, make_test_version
from tests.questions.people import Bench

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench():
    return Bench()


def refused(bench, *args, by=None, **changes):
    with pytest.raises(InvalidQuestion) as error:
        bench.asks(*args, by=by, **changes)
    return error.value.fields


def events(question):
    return list(Event.objects.filter(object_id=str(question.pk)).order_by("id").values_list("action", flat=True))


def test_a_question_is_a_run_of_its_own_with_a_job_for_each_sequence(bench):
    question = bench.asks("continue", length=30, seed=7, samples=2)
    run = question.run
    assert (run.kind, run.order_id, run.test_version, run.organisation_id) == ("question", None, None, bench.laboratory.pk)
    assert (run.seed, run.rank, run.items_total, run.tokens) == (7, 3, 2, 2 * (131 + 13 + 60))
    assert run.protocol == {"kind": "continue", "length": 30, "temperature": 1.0, "top_k": 0, "samples": 2}
    assert [(job.first, job.last, job.rank) for job in run.jobs.order_by("id")] == [(0, 0, 3), (1, 1, 3)]
    assert (question.first_name, question.sequences, question.bases, events(question)) == ("lacZ", 2, 142, ["question.asked"])
    assert selectors.asked_sequences(question)[1] == ("short", BASES[200:212])


def test_what_is_wrong_is_told_field_by_field_and_nothing_is_asked(bench):
    fields = refused(bench, "continue", ">long\n" + "A" * 2000, length=60, temperature=-1, deployment="none", priority="stat")
    assert set(fields) == {"deployment", "priority", "temperature"} and "before routine work" in fields["priority"][0]
    assert refused(bench, "continue", ">long\n" + "A" * 2000, length=60) == {
        "text": ["Line 1: “long” has 2,000 bases; ecoli-orf-2k 1.0 takes at most 1,988 here."]
    }
    assert list(refused(bench, "continue", "\n\n".join(["ACGTACGTAC"] * 50), length=1000)) == ["length"]
    assert not Question.objects.exists() and not Run.objects.exists()


def test_the_longest_sequence_that_a_model_takes_can_be_asked(bench):
    assert bench.asks("score", "A" * 2048).bases == 2048
    assert list(refused(bench, "score", "A" * 2049)) == ["text"]


def test_more_urgent_than_routine_asks_who_may_promote_and_stat_nobody(bench):
    steward = make_actor(role=Role.MODEL_STEWARD, organisation=bench.laboratory)
    assert bench.asks(by=steward).run.rank == 3 and list(refused(bench, by=steward, priority="urgent")) == ["priority"]
    assert [bench.asks(priority=name).run.rank for name in ("asap", "urgent")] == [1, 2]
    assert list(refused(bench, priority="stat")) == ["priority"]
    run = Run.objects.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(rank=0)  # not by the database either


def test_stat_and_more_urgent_orders_start_before_any_question(bench):
    bench.asks(priority="asap")
    order = make_order(intake=make_ready_intake(test_version=bench.test), priority="stat")
    routine = make_order(intake=make_ready_intake(test_version=bench.test))
    question = bench.asks()
    assert taken().run_id == Run.objects.get(order_id=order.pk).pk
    for _ in range(2):
        taken()
    assert taken().run_id == Run.objects.get(order_id=routine.pk).pk and taken().run_id == question.run_id


def test_a_question_is_named_like_nobody_known_here(bench):
    order = make_order(intake=make_ready_intake(test_version=bench.test))
    for name in (order.accession, order.stated_mrn.lower(), order.specimen.identifier):
        assert "names nobody" in refused(bench, "score", f">{name}\nACGTACGTAC")["text"][0]
    assert bench.asks("score", ">somebody-else\nACGTACGTAC")


def test_a_number_in_either_case_or_in_a_part_of_a_name_is_found_when_it_is_asked_and_not_before(bench):
    tube = SpecimenDetails(identifier="Tube-77", type="isolate", source="", collected_at=clock.now() - timedelta(hours=2))
    intake = make_ready_intake(test_version=bench.test, organisation=make_organisation())
    order = make_order(intake=intake, specimen=tube)
    theirs = {"organisation": intake.ordering_organisation, "patient": order.patient}
    PatientIdentifier.objects.create(**theirs, system="urn:n", value="N-4711")
    mrn, accession = order.stated_mrn, order.accession.lower()
    for name in ("tube-77", "n-4711", f"{mrn};x", f"{mrn.lower()}_L1", f"lane1|{accession}"):
        typed = foreseeing.foresee(bench.wants(text=f">{name}\nACGTACGTAC"))
        assert typed.faults == [] and "checked when you ask" in typed.notes[-1]
        assert "names nobody" in refused(bench, "score", f">{name}\nACGTACGTAC")["text"][0], name
    assert bench.asks("score", ">seq_1\nACGTACGTAC")


def test_who_asks_by_a_name_that_is_known_here_leaves_an_event_of_the_patient(bench):
    order = make_order(intake=make_ready_intake(test_version=bench.test))
    client, asked = logged_in(Role.MODEL_STEWARD, bench.laboratory), f">MRN-x\nACGTACGTAC\n>{order.stated_mrn}\nACGTACGTAC"
    typed = {"text": asked, "kind": "score", "deployment": bench.test.deployment_id}
    written = Event.objects.filter(action="question.named_somebody")
    assert order.stated_mrn not in client.post(reverse("question-check"), typed).content.decode() and not written.exists()
    assert client.post(reverse("question-new"), typed).status_code == 422
    assert list(written.values_list("object_id", "organisation_id", "facts")) == [(str(order.patient_id), bench.laboratory.pk, {})]


def test_only_permitted_people_of_the_laboratory_ask_and_see(bench):
    question = bench.asks()
    colleague = make_actor(role=Role.REVIEWER, organisation=bench.laboratory)
    assert selectors.question_for(colleague, question.pk) == question
    stranger = make_actor(role=Role.DIRECTOR, organisation=make_laboratory())
    with pytest.raises(NotPermitted):
        bench.asks(by=stranger)
    for actor in (stranger, *(make_actor(role=role, organisation=bench.laboratory) for role in (Role.REQUESTER, Role.AUDITOR))):
        assert selectors.newest(actor, limit=5) == []
        with pytest.raises(NotFound):
            selectors.question_for(actor, question.pk)


def test_only_models_that_concern_the_laboratory_can_be_asked(bench):
    theirs = make_test_version(deployment="of-another-laboratory")
    free = register_deployment(name="free", model_version=theirs.deployment.model_version, precision="fp32", pin={"threads": 2})
    assert refused(bench, deployment="of-another-laboratory") == {"deployment": ["There is no such deployed model here."]}
    assert bench.asks(deployment=free.name).run.deployment == free


def test_sent_twice_under_one_key_it_is_one_question_and_changed_it_is_a_conflict(bench):
    key = uuid4()
    first, again = (services.ask(actor=bench.actor, request=bench.wants(), key=key) for _ in range(2))
    with pytest.raises(QuestionConflict, match=first.short) as told:
        services.ask(actor=bench.actor, request=bench.wants("embed"), key=key)
    assert again == first and told.value.question == first.pk and Question.objects.count() == 1


def test_under_one_key_two_people_have_each_a_question_and_neither_learns_of_the_other(bench):
    key, colleague = uuid4(), make_actor(role=Role.ANALYST, organisation=bench.laboratory)
    mine, theirs = (services.ask(actor=actor, request=bench.wants(), key=key) for actor in (bench.actor, colleague))
    assert (mine.pk, theirs.pk) == (uuid5(bench.actor.id, str(key)), uuid5(colleague.id, str(key)))
    assert services.ask(actor=bench.actor, request=bench.wants(), key=theirs.pk) not in (mine, theirs)


def test_nobody_has_more_open_questions_than_he_may(bench, monkeypatch):
    monkeypatch.setattr(asking, "MOST_OPEN", 2)
    first = bench.asks()
    bench.asks()
    assert "2 of your questions are still open" in refused(bench)[""][0]
    services.cancel(actor=bench.actor, question=first)
    assert bench.asks()


def test_cancelled_by_its_asker_or_by_who_cancels_orders_and_by_nobody_else(bench):
    mine, theirs = bench.asks(), bench.asks()
    taken()
    with pytest.raises(NotPermitted):
        services.cancel(actor=make_actor(role=Role.REVIEWER, organisation=bench.laboratory), question=mine)
    services.cancel(actor=bench.actor, question=mine)
    services.cancel(actor=make_actor(role=Role.DIRECTOR, organisation=bench.laboratory), question=theirs)
    mine.refresh_from_db()
    assert mine.ended_at and mine.run.state == "cancelled" and events(mine) == ["question.asked", "question.cancelled"]
    assert list(Job.objects.filter(run=mine.run).order_by("id").values_list("state", "cancel_requested")) == [
        ("running", True), ("cancelled", False)
    ]  # fmt: skip
    with pytest.raises(IllegalMove):
        services.cancel(actor=bench.actor, question=mine)
    assert take() is None


def test_the_last_answer_ends_it_and_a_job_that_needs_a_person_flags_it(bench):
    question = bench.asks()
    for _ in range(2):
        claimed = taken()
        settling.settle(scored(claimed, scores=[ItemScore(claim_item(claimed), ll_alt=-1.0, answer={"strands": []})]))
    question.refresh_from_db()
    assert (question.run.state, selectors.standing(question).open) == ("scored", False) and question.ended_at is not None
    assert events(question) == ["question.asked", "question.finished"]


def claim_item(claimed):
    return Run.objects.get(pk=claimed.run_id).item_set.items.get(ordinal=claimed.first).pk


def test_what_it_would_take_is_foreseen_as_it_is_typed(bench):
    nothing = foreseeing.foresee(bench.wants(text=""))
    assert (nothing.sequences, nothing.faults, nothing.seconds) == (0, [], None)
    found = foreseeing.foresee(bench.wants(text="ACGTACGTAC\nACGT?"))
    assert (found.sequences, found.bases, found.tokens, found.longest) == (1, 14, 30, 2048) and "Line 2" in found.faults[0]
    assert foreseeing.foresee(bench.wants(deployment="none")).model is None
