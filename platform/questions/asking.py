"""Whether a question can be asked as it stands: the text, the model's reach, the settings, whose it would be, and how urgent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from accounts.roles import Verb
from foundation.actor import Actor
from questions import naming, offered, requests, text, wording
from questions.errors import InvalidQuestion
from questions.models import Question
from questions.offered import Offered
from questions.requests import MOST_GENERATED, QuestionRequest
from questions.text import Asked, Reading

MOST_OPEN = 20  # questions of one person
PRIORITIES = ("asap", "urgent", "routine")


@dataclass(frozen=True)
class Checked:
    """A question that can be asked."""

    request: QuestionRequest
    settings: Mapping[str, Any]
    sequences: list[Asked]
    bases: int
    tokens: int  # of all that is computed, nothing shared; an upper bound where tokens differ in width


def check(actor: Actor, request: QuestionRequest) -> Checked:
    """Raises `InvalidQuestion` with everything that has to be corrected, and whom it names."""
    faults: dict[str, list[str]] = {}
    settings: dict[str, Any] = {}
    model = chosen(request)
    if model is None:
        faults["deployment"] = [wording.MODEL]
    if request.priority not in priorities(actor, request):
        faults["priority"] = [wording.STAT if request.priority == "stat" else wording.PRIORITY]
    try:
        settings = requests.settled(request)
    except InvalidQuestion as error:
        faults |= error.fields
    found = text.read(request.text)
    named = naming.named(request.laboratory_id, found)
    said = faults_of(request, found, model, settings)
    said += [wording.IDENTIFIES.format(line=one.line, name=one.name) for one in found.sequences if one in named]
    if said:
        faults["text"] = text.shortened(said)
    if not faults and (over := _too_much(settings, len(found.sequences))):
        faults["length"] = [over]
    if faults or model is None:
        raise InvalidQuestion(faults, set[UUID]().union(*named.values()))
    return Checked(request, settings, found.sequences, found.bases, work(request.kind, settings, found, model))


def faults_of(request: QuestionRequest, found: Reading, model: Offered | None, settings: Mapping[str, Any]) -> list[str]:
    """What is wrong with the sequences, line by line as far as that is known; whom they are named like is not looked up."""
    said = list(found.faults)
    most = model.longest(request.kind, settings.get("length", 0)) if model else None
    if model is not None and most is not None:
        said += [
            wording.TOO_LONG.format(line=one.line, name=one.name, length=len(one.bases), model=model.model, most=most)
            for one in found.sequences
            if len(one.bases) > most
        ]
    return text.shortened(said)


def work(kind: str, settings: Mapping[str, Any], found: Reading, model: Offered) -> int:
    """Tokens that are computed."""
    read = sum(model.tokens(len(one.bases)) + model.before for one in found.sequences)
    if kind == "score":
        return read * (2 if settings["strand"] == "both" else 1)
    if kind == "continue":
        return (read + len(found.sequences) * model.tokens(settings["length"])) * int(settings["samples"])
    return read


def chosen(request: QuestionRequest) -> Offered | None:
    """The model that is asked; None where the laboratory has no such."""
    return next((one for one in offered.deployments([request.laboratory_id]) if one.name == request.deployment), None)


def priorities(actor: Actor, request: QuestionRequest) -> tuple[str, ...]:
    """What this person may ask as: never STAT, and beyond routine only who may promote in this laboratory."""
    return PRIORITIES if actor.may(Verb.PROMOTE, request.laboratory_id) else PRIORITIES[-1:]


def require_room(actor: Actor) -> None:
    """Raises `InvalidQuestion` where this person has asked enough for now."""
    count = Question.objects.filter(asked_by_id=actor.id, ended_at=None).count()
    if count >= MOST_OPEN:
        raise InvalidQuestion({"": [wording.BUSY.format(count=count)]})


def _too_much(settings: Mapping[str, Any], sequences: int) -> str:
    count = int(settings.get("length", 0)) * int(settings.get("samples", 1)) * sequences
    return wording.GENERATED.format(count=count, most=MOST_GENERATED) if count > MOST_GENERATED else ""
