"""Everything that happened to a question, for auditors of its laboratory: who asked, what became of it, and who looked."""

from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.roles import Verb
from audit.models import Event
from casefile import trail
from casefile.trail import Looks, Trail
from engine_queue.models import Job
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted
from questions.models import Question

READS = ("question.viewed", "question.downloaded", "audit.viewed")
# filter → (words, the kinds of objects whose events it shows)
PARTS = {
    "question": ("Question", ("questions.question",)),
    "work": ("Runs and jobs", ("engine_queue.run", "engine_queue.job")),
}
_DIGITS = 8  # of its id, that people call it by


def question_to_audit(actor: Actor, pk: UUID) -> Question:
    """A question of a laboratory whose auditor this is. Raises `NotPermitted` for who only may see it, else `NotFound`."""
    rows = Question.objects.for_actor(actor, Verb.VIEW_AUDIT).select_related("organisation", "asked_by")
    found: Question | None = rows.filter(pk=pk).first()
    if found is not None:
        return found
    if Question.objects.for_actor(actor).filter(pk=pk).exists():
        raise NotPermitted("Your role does not include the audit trail.", code="access.not-permitted")
    raise NotFound


def question_numbered(actor: Actor, said: str) -> Question | None:
    """The newest question that is called like this, such as Q-1A2B3C4D, where this auditor may read its trail."""
    digits = said.upper().removeprefix("Q-")
    if len(digits) != _DIGITS or not set(digits) <= set("0123456789ABCDEF"):
        return None
    first, last = (UUID(digits + filling * (32 - _DIGITS)) for filling in "0F")
    rows = Question.objects.for_actor(actor, Verb.VIEW_AUDIT).filter(pk__range=(first, last))
    found: Question | None = rows.order_by("-asked_at").first()
    return found


def of(actor: Actor, question: Question, *, part: str = "", page: int = 1) -> Trail:
    """What happened, as far as this auditor's laboratory keeps it."""
    rows = _events(actor, question)
    if part == "reads":
        rows = rows.filter(action__in=READS)
    elif part in PARTS:
        rows = rows.filter(object_type__in=PARTS[part][1])
    return trail.page_of(rows, part, page)


def looks(actor: Actor, question: Question) -> list[Looks]:
    """Who looked at it, took its answer or read its trail, the latest first."""
    return trail.grouped(_events(actor, question).filter(action__in=READS))


def _events(actor: Actor, question: Question) -> QuerySet[Event]:
    jobs = [str(pk) for pk in Job.objects.filter(run_id=question.run_id).values_list("pk", flat=True)]
    about = Q(object_type="questions.question", object_id=str(question.pk))
    about |= Q(object_type="engine_queue.run", object_id=str(question.run_id))
    about |= Q(object_type="engine_queue.job", object_id__in=jobs)
    rows: QuerySet[Event] = Event.objects.for_actor(actor).filter(about)
    return rows
