"""Ask and cancel. A question is a run without a test, of which nothing reaches an order, a report or a patient."""

import hashlib
import json
import secrets
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4, uuid5

from django.db import transaction

from accounts.models import User
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue import cancelling, cutting, tickets
from engine_queue.models import Item, ItemSet, Run, RunKind
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted
from foundation.reasons import Reason
from orders.models import Patient
from questions import asking, hints
from questions.asking import Checked
from questions.errors import InvalidQuestion, QuestionConflict
from questions.models import Question
from questions.requests import QuestionRequest
from registry.models import Deployment
from registry.priority import PRIORITY_RANK

DUE = {"asap": timedelta(hours=1), "urgent": timedelta(hours=4), "routine": timedelta(hours=24)}
SEED_BITS = 53  # of a seed that is drawn: any program can hold it exactly


def ask(*, actor: Actor, request: QuestionRequest, key: UUID | None = None) -> Question:
    """Ask a question. Sent again under the same `key` with the same content it is the same question; a key is its person's own.

    Raises `NotPermitted`, `QuestionConflict` where he asked something else under the key, and `InvalidQuestion` with everything
    that has to be corrected; the caller gives that to `note_named`.
    """
    require(actor, Verb.ASK, request.laboratory_id)
    person = _person(actor)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person)  # one at a time: how many are open is counted below
        pk = uuid5(person, str(key)) if key else uuid4()  # of this person alone: what others asked under a key, no answer tells
        known = Question.objects.filter(pk=pk).first()
        if known is not None:
            return _the_same(known, request)
        checked = asking.check(actor, request)
        asking.require_room(actor)
        return _create(actor, person, checked, pk)


def note_named(*, actor: Actor, request: QuestionRequest, error: InvalidQuestion) -> None:
    """Write whom a refused question named: its refusal told the asker that they are known here. Outside of what it rolled back."""
    with transaction.atomic():
        for pk in sorted(error.named):
            named = Patient(pk=pk)
            audit.record(actor=actor, action="question.named_somebody", obj=named, organisation_id=request.laboratory_id)


def cancel(*, actor: Actor, question: Question) -> None:
    """Stop a question that is not answered yet: its asker may, and who may cancel orders of the laboratory.

    Raises `NotPermitted`, and `IllegalMove` when it has ended.
    """
    if not may_cancel(actor, question):
        raise NotPermitted(code=str(Reason.ACCESS_NOT_PERMITTED))
    with transaction.atomic():
        locked = Question.objects.select_for_update().get(pk=question.pk)
        cancelling.cancel_run(locked.run, actor=actor, reason=str(Reason.QUESTION_CANCELLED))
        locked.ended_at, locked.cancelled_by_id, locked.attention = clock.now(), actor.id, ""
        locked.save(update_fields=["ended_at", "cancelled_by", "attention"])
        audit.record(
            actor=actor, action="question.cancelled", obj=locked, organisation_id=locked.organisation_id,
            reason=str(Reason.QUESTION_CANCELLED), facts={"run": str(locked.run_id)},
        )  # fmt: skip
        hints.changed(locked)


def may_cancel(actor: Actor, question: Question) -> bool:
    """Whether this person may stop it, as far as rights go."""
    mine = actor.id == question.asked_by_id and actor.may(Verb.ASK, question.organisation_id)
    return mine or (actor.may(Verb.ASK, question.organisation_id) and actor.may(Verb.CANCEL, question.organisation_id))


def _the_same(known: Question, request: QuestionRequest) -> Question:
    if known.content_sha256 != _digest(request):
        raise QuestionConflict(known.pk, known.short)
    return known


def _create(actor: Actor, person: UUID, checked: Checked, pk: UUID) -> Question:
    request, now = checked.request, clock.now()
    run = _run(checked)
    first = checked.sequences[0].name
    question = Question.objects.create(
        pk=pk, organisation_id=request.laboratory_id, asked_by_id=person, run=run, kind=request.kind, priority=request.priority,
        content_sha256=_digest(request), first_name=first, sequences=len(checked.sequences), bases=checked.bases, asked_at=now,
    )  # fmt: skip
    facts = {
        "run": str(run.pk), "kind": request.kind, "deployment": request.deployment, "priority": request.priority,
        "sequences": question.sequences, "bases": question.bases,
    }  # fmt: skip
    audit.record(actor=actor, action="question.asked", obj=question, organisation_id=request.laboratory_id, facts=facts)
    tickets.send_on_commit(cutting.cut(run, cutting.AHEAD))
    hints.changed(question)
    return question


def _run(checked: Checked) -> Run:
    request, settings, now = checked.request, dict(checked.settings), clock.now()
    deployment = Deployment.objects.select_related("model_version").get(pk=request.deployment)
    seed = settings.pop("seed", None)
    return Run.objects.create(
        organisation_id=request.laboratory_id, kind=RunKind.QUESTION, item_set=_item_set(checked),
        model_version=deployment.model_version, deployment=deployment, precision=deployment.precision,
        protocol={"kind": request.kind, **settings}, reference_digest="",
        seed=secrets.randbits(SEED_BITS) if seed is None else seed, rank=PRIORITY_RANK[request.priority],
        due_at=now + DUE[request.priority], items_total=len(checked.sequences), tokens=checked.tokens, created_at=now,
    )  # fmt: skip


def _item_set(checked: Checked) -> ItemSet:
    request = checked.request
    made = ItemSet.objects.create(organisation_id=request.laboratory_id, kind=request.kind, count=len(checked.sequences))
    Item.objects.bulk_create(
        Item(item_set=made, ordinal=place, name=one.name, sequence=one.bases) for place, one in enumerate(checked.sequences)
    )
    made.frozen_at = clock.now()
    made.save(update_fields=["frozen_at"])
    return made


def _person(actor: Actor) -> UUID:
    if actor.id is None:
        raise NotPermitted(code=str(Reason.ACCESS_NOT_PERMITTED))
    return actor.id


def _digest(request: QuestionRequest) -> str:
    said = replace(request, settings={name: value for name, value in request.settings.items() if value is not None})
    return hashlib.sha256(json.dumps(said.__dict__, sort_keys=True, default=str).encode()).hexdigest()
