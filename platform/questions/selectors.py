"""What people may read of questions. Every function takes the actor and returns nothing he may not see."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from engine_queue import line, selectors
from engine_queue.models import OPEN, Item
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from orders import estimates
from orders.estimates import Finish
from questions.models import Question


@dataclass(frozen=True)
class Standing:
    """How far a question is, and what is known of its end."""

    state: str  # queued | running | scored | cancelled
    done: int
    total: int
    place: int | None = None  # jobs that start before its next; None: none of it waits
    finish: Finish | None = None
    served: bool = True  # a worker that lives has its deployment
    computes: bool = False  # an engine computes something of it now
    stuck: bool = False  # a part of it waits for a person
    late: bool = False

    @property
    def open(self) -> bool:
        """Whether anything is still to come."""
        return self.state in OPEN


def question_for(actor: Actor, pk: UUID) -> Question:
    """A question this actor may see. Raises `NotFound`: to a stranger it does not exist."""
    related = ("run__deployment__model_version", "organisation", "asked_by", "cancelled_by")
    found: Question | None = Question.objects.for_actor(actor).select_related(*related).filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def newest(
    actor: Actor,
    *,
    mine: bool = False,
    kind: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    skip: int = 0,
    limit: int,
) -> list[Question]:
    """At most `limit` questions, the newest first."""
    rows = Question.objects.for_actor(actor).select_related("run", "organisation", "asked_by")
    rows = rows.filter(asked_by_id=actor.id) if mine else rows
    rows = rows.filter(kind=kind) if kind else rows
    if after is not None:
        asked, pk = after
        rows = rows.filter(asked_at__lte=asked).filter(Q(asked_at__lt=asked) | Q(pk__lt=pk))
    return list(rows.order_by("-asked_at", "-pk")[skip : skip + limit])


def counts(actor: Actor) -> tuple[int, int]:
    """How many questions this person sees, and how many of them are his own."""
    rows = Question.objects.for_actor(actor)
    return rows.count(), rows.filter(asked_by_id=actor.id).count()


def standings(questions: Collection[Question]) -> dict[UUID, Standing]:
    """How far each of these questions is, read at once."""
    open_ones = [one.run_id for one in questions if one.run.state in OPEN]
    positions = selectors.positions(open_ones)
    places = line.places_of_runs(open_ones) if open_ones else {}
    rates = line.rates(place.kind for place in places.values())
    now = clock.now()
    alive = {name for worker in selectors.workers() if worker.alive for name in worker.deployments} if open_ones else set()
    return {
        one.pk: Standing(
            one.run.state, one.run.items_done, one.run.items_total, positions.get(one.run_id),
            estimates.foreseen(place, rates.get(place.kind), now) if (place := places.get(one.run_id)) else None,
            one.run.deployment_id in alive, bool(place and place.begun), bool(place and place.stuck) or bool(one.attention),
            one.ended_at is None and one.run.due_at < now,
        )
        for one in questions
    }  # fmt: skip


def standing(question: Question) -> Standing:
    """Of one."""
    return standings([question])[question.pk]


def asked_sequences(question: Question) -> list[tuple[str, str]]:
    """Names and bases, as they were asked."""
    items = Item.objects.filter(item_set_id=question.run.item_set_id).order_by("ordinal")
    return list(items.values_list("name", "sequence"))
