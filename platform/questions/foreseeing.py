"""What a question would take if it were asked now: sequences, bases, tokens, and when it would be answered, as it is typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine_queue import line
from engine_queue.line import Rate
from foundation import clock
from orders.estimates import seconds_for
from questions import asking, requests, text, wording
from questions.errors import InvalidQuestion
from questions.offered import Offered
from questions.requests import QuestionRequest
from questions.services import DUE
from registry.priority import PRIORITY_RANK

_LIKE = {"score": ("score", "sequence"), "embed": ("embed", "score", "sequence"), "continue": ("continue",)}


@dataclass(frozen=True)
class Foreseen:
    """What is known of a question before it is asked."""

    sequences: int
    bases: int
    tokens: int | None  # None: the model or a setting is missing or wrong
    exact: bool  # whether the number of tokens is known, or only how many it is at most
    faults: Sequence[str]  # of the text
    notes: Sequence[str]
    model: Offered | None
    longest: int | None  # bases that the model takes
    ahead: int = 0  # items that start before it
    seconds: tuple[float, float] | None = None  # until it is answered; None: nothing comparable was measured


def foresee(request: QuestionRequest) -> Foreseen:
    """Nothing is written, and nothing raised."""
    found, model, settings = text.read(request.text), asking.chosen(request), _settings(request)
    said = Foreseen(
        len(found.sequences), found.bases, None, bool(model and model.token_bases),
        asking.faults_of(request, found, model, settings or {}) if found.sequences else [],
        [*found.notes, wording.NAMES_LATER] if found.sequences else [], model, None,
    )  # fmt: skip
    if model is None or settings is None:
        return said
    tokens, longest = asking.work(request.kind, settings, found, model), model.longest(request.kind, settings.get("length", 0))
    said = replace(said, tokens=tokens, longest=longest)
    return _timed(said, request, tokens, model) if found.sequences else said


def _timed(said: Foreseen, request: QuestionRequest, tokens: int, model: Offered) -> Foreseen:
    priority = request.priority if request.priority in DUE else "routine"
    rank, due = PRIORITY_RANK[priority], clock.now() + DUE[priority]
    before, rate = line.before(model.name, {rank: due})[rank], _rate(model.name, request.kind)
    return replace(said, ahead=before.items, seconds=seconds_for(tokens + before.tokens, rate) if rate else None)


def _settings(request: QuestionRequest) -> Mapping[str, Any] | None:
    try:
        return requests.settled(request)
    except InvalidQuestion:
        return None


def _rate(deployment: str, kind: str) -> Rate | None:
    """How fast the like of it went lately."""
    rates = line.rates((deployment, like) for like in _LIKE[kind])
    return next((rates[deployment, like] for like in _LIKE[kind] if (deployment, like) in rates), None)
