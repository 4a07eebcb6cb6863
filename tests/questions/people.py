"""A laboratory that asks, and its questions in the states that pages show."""

import queue
from datetime import timedelta
from typing import Any

from accounts.models import Organisation
from accounts.roles import Role
from engine_queue import claim, settling
from engine_queue.host import Flight, Host
from engine_queue.models import Result, Worker
from engine_queue.work import Outcome
from foundation import clock
from foundation.actor import Actor
from questions import services
from questions.models import Question
from questions.requests import QuestionRequest
from tests.engine_queue.rows import take
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import BASES, make_actor, make_test_version

FASTA = f">lacZ part of it\n{BASES[:130]}\n>short\n{BASES[200:212].lower()}\n"


class Bench:
    """A laboratory with a deployed model, and the people who ask there."""

    def __init__(self, *, takes: bool = True) -> None:
        self.test = make_test_version()
        self.laboratory: Organisation = self.test.definition.laboratory
        self.actor = make_actor(role=Role.ANALYST, organisation=self.laboratory)
        if takes:
            self.works()

    def works(self, **stats: Any) -> Worker:
        """A worker that lives, and has said how much its model takes."""
        now = clock.now()
        takes = {DEPLOYMENT: {"context": 2048, "before": 1, "token_bases": 1}}
        return Worker.objects.create(
            name="engine-1", kind="engine", incarnation="engine-1/x", host="h", pid=1, deployments=[DEPLOYMENT], started_at=now,
            seen_at=now, lease_until=now + timedelta(hours=1), stats={"takes": takes, **stats},
        )  # fmt: skip

    def wants(self, kind: str = "score", text: str = FASTA, **changes: Any) -> QuestionRequest:
        values = {"priority": changes.pop("priority", "routine"), "deployment": changes.pop("deployment", DEPLOYMENT)}
        return QuestionRequest(self.laboratory.pk, kind=kind, text=text, settings=changes, **values)

    def asks(self, kind: str = "score", text: str = FASTA, *, by: Actor | None = None, **changes: Any) -> Question:
        return services.ask(actor=by or self.actor, request=self.wants(kind, text, **changes))


def answered_by(host: Host, *, together: int = 1) -> None:
    """Claim and compute everything that waits, so many jobs at once; written as a finisher writes it."""
    while flights := _in_flight(host, together):
        for flight in flights:
            claimed = flight.work.claimed
            fingerprint, invariant = host.facts(claimed.deployment)
            outcome = Outcome(claimed, "scored", lambda: None, flight.scores, fingerprint, invariant)
            assert not flight.fault and settling.settle(outcome)
            host.forget(claimed.job_id)


def _in_flight(host: Host, together: int) -> list[Flight]:
    landed: queue.Queue[Flight] = queue.Queue()
    begun = 0
    while begun < together and (claimed := take()) is not None:
        claim.started(claimed)
        host.begin(claim.load(claimed), landed.put)
        begun += 1
    return [landed.get(timeout=120) for _ in range(begun)]


def said(question: Question) -> list[tuple[Any, Any, Any]]:
    """Everything that was computed, to be compared bit by bit."""
    rows = Result.objects.filter(run=question.run).order_by("item__ordinal")
    return [(row.ll_alt, row.answer, row.failure) for row in rows]
