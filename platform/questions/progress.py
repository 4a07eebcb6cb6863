"""What the engine queue says of the run of a question: begun, a sequence more, answered, or stuck."""

from typing import TYPE_CHECKING

from audit import services as audit
from engine_queue.models import Run, RunKind
from foundation import clock
from foundation.actor import process
from questions import hints
from questions.models import Question

if TYPE_CHECKING:
    from engine_queue.outcomes import Fact


def lock_question(run: Run) -> int | None:
    """Lock the run's question before the run; its results carry the run's own version."""
    if run.kind == RunKind.QUESTION:
        Question.objects.select_for_update().filter(run_id=run.pk).first()
    return None


def apply(fact: "Fact") -> None:
    """Move the question along."""
    if fact.run.kind != RunKind.QUESTION:
        return
    question = Question.objects.filter(run_id=fact.run.pk, ended_at=None).first()
    if question is None:
        return
    if fact.kind == "scored":
        _answered(question, fact)
    elif fact.kind == "attention":
        _flag(question, fact.reason)
    elif fact.kind == "resumed" and not fact.run.jobs.exclude(attention="").exists():
        _flag(question, "")
    hints.changed(question)


def _answered(question: Question, fact: "Fact") -> None:
    question.ended_at = clock.now()
    question.save(update_fields=["ended_at"])
    failed = fact.run.results.exclude(failure="").count()
    audit.record(
        actor=process(fact.worker), action="question.finished", obj=question, organisation_id=question.organisation_id,
        facts={"run": str(fact.run.pk), "sequences": question.sequences, "failed": failed},
    )  # fmt: skip


def _flag(question: Question, attention: str) -> None:
    question.attention = attention
    question.save(update_fields=["attention"])
