"""Questions about plain sequences: asked, listed, followed, cancelled, and their answers. Research use, no report."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Router
from ninja.params.functions import Query

from accounts.roles import Verb
from audit import reads
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused
from foundation.reasons import Reason
from interop.api import cursors, shapes
from interop.api.question_shapes import (
    AnswerShape,
    DeploymentShape,
    KindName,
    QuestionGiven,
    QuestionLine,
    QuestionPage,
    QuestionShape,
)
from interop.api.security import ApiRequest, Token
from interop.api.shown import estimate
from interop.api.writing import KEY, done_once
from interop.idempotency import Done
from questions import answers, files, offered, selectors, services
from questions.errors import InvalidQuestion
from questions.models import Question
from questions.requests import SETTINGS, QuestionRequest

router = Router(tags=["Questions"])
LIMIT: Any = Query(50, ge=1, le=200)


@router.get("/deployments", response=list[DeploymentShape], auth=Token(Verb.ASK))
def list_deployments(request: ApiRequest) -> list[DeploymentShape]:
    """The deployed models that your laboratories may ask."""
    rows = offered.deployments([one.pk for one in offered.laboratories(request.auth)])
    return [
        DeploymentShape(name=one.name, model=one.model, precision=one.precision, served=one.served, longest=one.longest("score"))
        for one in rows
    ]


@router.post("/questions", response={201: QuestionShape}, auth=Token(Verb.ASK), url_name="questions")
def ask_question(request: ApiRequest, given: QuestionGiven, idempotency_key: str | None = KEY) -> HttpResponse:
    """Ask a deployed model about sequences. For research: no patient is attached, and nothing of it reaches a report."""
    actor = request.auth
    wanted = _asked(actor, given)

    def work() -> Done:
        return _done(actor, services.ask(actor=actor, request=wanted).pk, status=201)

    try:
        return done_once(request, idempotency_key, work, seen=lambda pk: selectors.question_for(actor, pk))
    except InvalidQuestion as error:
        services.note_named(actor=actor, request=wanted, error=error)
        raise


@router.get("/questions", response=QuestionPage, auth=Token(Verb.ASK))
@cursors.named_alone
def list_questions(
    request: ApiRequest, mine: bool = False, kind: KindName | None = None, after: str | None = shapes.AFTER, limit: int = LIMIT
) -> QuestionPage:
    """Questions of your laboratories, the newest first."""
    place = cursors.place(after) if after else None
    rows = selectors.newest(request.auth, mine=mine, kind=kind, after=place, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return QuestionPage(
        questions=[QuestionLine(**_line(row)) for row in rows[:limit]],
        next=cursors.cursor(last.asked_at.isoformat(), last.pk) if last else None,
    )


@router.get("/questions/{uuid:pk}", response=QuestionShape, auth=Token(Verb.ASK))
def get_question(request: ApiRequest, pk: UUID) -> QuestionShape:
    """How far a question is."""
    return _shape(selectors.question_for(request.auth, pk))


@router.get("/questions/{uuid:pk}/result", response=AnswerShape, auth=Token(Verb.ASK))
def get_answer(request: ApiRequest, pk: UUID) -> AnswerShape:
    """The answer, once all of it is there; 409 before, and of a cancelled question."""
    question = selectors.question_for(request.auth, pk)
    if question.run.state != "scored":
        raise Refused(Reason.QUESTION_NOT_ANSWERED.words, code=str(Reason.QUESTION_NOT_ANSWERED))
    reads.seen(actor=request.auth, action="question.viewed", obj=question, organisation_id=question.organisation_id)
    return AnswerShape(**files.body(question, answers.answers(question)))


@router.post("/questions/{uuid:pk}/cancel", response=QuestionShape, auth=Token(Verb.ASK))
def cancel_question(request: ApiRequest, pk: UUID, idempotency_key: str | None = KEY) -> HttpResponse:
    """Stop a question that is not answered yet: its asker may, and who may cancel orders of the laboratory."""
    question = selectors.question_for(request.auth, pk)

    def work() -> Done:
        services.cancel(actor=request.auth, question=question)
        return _done(request.auth, pk)

    return done_once(request, idempotency_key, work, seen=lambda found: selectors.question_for(request.auth, found))


def _done(actor: Actor, pk: UUID, *, status: int = 200) -> Done:
    question = selectors.question_for(actor, pk)
    headers = {"Location": f"/api/v1/questions/{pk}"} if status == 201 else {}
    return Done(status, _shape(question).model_dump_json(), question.organisation_id, question.pk, headers)


def _asked(actor: Actor, given: QuestionGiven) -> QuestionRequest:
    laboratories = offered.laboratories(actor)
    laboratory = given.laboratory or next((one.pk for one in laboratories), None)
    if laboratory not in {one.pk for one in laboratories} or laboratory is None:
        raise NotPermitted(code=str(Reason.ACCESS_NOT_PERMITTED))
    settings = {name: getattr(given, name) for name in SETTINGS}
    return QuestionRequest(laboratory, given.deployment, given.kind, given.text, given.priority, settings)


def _line(question: Question) -> dict[str, Any]:
    run, same = question.run, "id kind priority first_name sequences bases asked_at ended_at attention"
    return {name: getattr(question, name) for name in same.split()} | {
        "state": run.state, "use": files.USE, "laboratory": shapes.Named.from_orm(question.organisation),
        "asked_by": question.asked_by.name, "deployment": run.deployment_id, "sequences_done": run.items_done, "due_at": run.due_at,
    }  # fmt: skip


def _shape(question: Question) -> QuestionShape:
    run, standing = question.run, selectors.standing(question)
    return QuestionShape(
        **_line(question), model=str(run.deployment.model_version), precision=run.precision, settings=files.settings_of(question),
        tokens=run.tokens, jobs_ahead=standing.place, estimate=estimate(standing.finish), files=files.offered(question),
    )  # fmt: skip
