"""The form on which a question is asked: what was typed comes back whatever is wrong with it, and is counted as it is typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from accounts.models import Organisation
from accounts.roles import Verb
from dashboard.wording import PRIORITY_HINT, PRIORITY_WORD, counted, duration_range
from foundation.actor import Actor
from foundation.errors import NotFound
from questions import asking, foreseeing, offered, requests, selectors, services, text
from questions.errors import InvalidQuestion, QuestionConflict
from questions.files import settings_of
from questions.foreseeing import Foreseen
from questions.models import Kind, Question
from questions.offered import Offered
from questions.requests import SETTINGS, QuestionRequest

Typed = Mapping[str, str]
KINDS = {
    Kind.SCORE: "how likely each sequence is to the model, base by base",
    Kind.CONTINUE: "bases that the model puts behind each sequence",
    Kind.EMBED: "one vector for each sequence",
}
USUAL = {"kind": "score", "priority": "routine", "text": "", "seed": ""} | {
    name: str(usual) for name, (_, usual) in SETTINGS.items() if usual is not None
}
ANCHORS = {"text": "id_text", "strand": "id_strand", "pooling": "id_pooling", "priority": "id_priority_routine"}


@dataclass(frozen=True)
class Desk:
    """Somebody at the form, the laboratories he may ask for, and the models there."""

    actor: Actor
    laboratories: Sequence[Organisation]
    models: Sequence[Offered]


def desk(actor: Actor) -> Desk:
    """Raises `NotFound` for somebody who asks for no laboratory."""
    laboratories = offered.laboratories(actor)
    if not laboratories:
        raise NotFound
    return Desk(actor, laboratories, offered.deployments([one.pk for one in laboratories]))


def opened(at: Desk, query: Typed) -> dict[str, object]:
    """The empty form, or one filled in from a question that there is."""
    asked = selectors.question_for(at.actor, UUID(query["from"])) if _is_id(query.get("from", "")) else None
    return _shown(at, _again(asked) if asked else {}, like=asked)


def submitted(at: Desk, typed: Typed) -> tuple[dict[str, object], Question | None]:
    """The question; or the form as it was sent, with what has to be corrected."""
    key = UUID(typed["key"]) if _is_id(typed.get("key", "")) else None
    request = _request(at, typed)
    try:
        return {}, services.ask(actor=at.actor, request=request, key=key)
    except InvalidQuestion as error:
        services.note_named(actor=at.actor, request=request, error=error)
        return _shown(at, typed, faults=error.fields), None
    except QuestionConflict as error:  # the form comes back under a key of its own: sent once more, it is another question
        return _shown(at, typed, known=error), None


def counted_live(at: Desk, typed: Typed) -> dict[str, object]:
    """The panel beside the text."""
    found = foreseeing.foresee(_request(at, typed))
    return {"found": found, "amount": _amount(found), "when": _when(found)}


def _shown(
    at: Desk,
    typed: Typed,
    *,
    faults: Mapping[str, list[str]] | None = None,
    like: Question | None = None,
    known: QuestionConflict | None = None,
) -> dict[str, object]:
    first = {"laboratory": str(at.laboratories[0].pk), "deployment": at.models[0].name if at.models else ""}
    values = {**USUAL, **first, **typed}
    request, errors = _request(at, values), faults or {}
    allowed = asking.priorities(at.actor, request)
    return {
        "values": values, "errors": errors, "like": like, "known": known, "key": uuid4(),
        "models": at.models, "laboratories": at.laboratories,
        "summary": [(ANCHORS.get(name, f"id_{name}" if name else ""), words) for name, said in errors.items() for words in said],
        "kinds": [(value, Kind(value).label, words) for value, words in KINDS.items()],
        "strands": requests.STRANDS.items(), "poolings": requests.POOLINGS.items(),
        "priorities": [(name, PRIORITY_WORD[name], PRIORITY_HINT[name]) for name in reversed(allowed)],
        "least": text.LEAST_BASES, "most_sequences": text.MOST_SEQUENCES, "most_bases": text.MOST_BASES,
        "may_promote": at.actor.may(Verb.PROMOTE, request.laboratory_id), **counted_live(at, values),
    }  # fmt: skip


def _request(at: Desk, typed: Typed) -> QuestionRequest:
    """As it was typed; what is no number stays the text that it is, and is refused with words for it."""
    known = {str(one.pk): one.pk for one in at.laboratories}
    kind = typed.get("kind", "") if typed.get("kind") in Kind.values else Kind.SCORE.value
    own = [name for name, (of, _) in SETTINGS.items() if of == kind]
    settings = {name: _read(name, typed[name].strip()) for name in own if typed.get(name, "").strip()}
    laboratory = known.get(typed.get("laboratory", ""), at.laboratories[0].pk)
    return QuestionRequest(
        laboratory, typed.get("deployment", ""), kind, typed.get("text", ""), typed.get("priority") or "routine", settings
    )


def _read(name: str, said: str) -> Any:
    if name in ("strand", "pooling"):
        return said
    try:
        return float(said) if name == "temperature" else int(said)
    except ValueError:
        return said


def _again(question: Question) -> dict[str, str]:
    settings = {name: str(value) for name, value in settings_of(question).items()}
    return {
        **settings, "text": text.written(selectors.asked_sequences(question)), "kind": question.kind,
        "deployment": question.run.deployment_id, "laboratory": str(question.organisation_id), "priority": question.priority,
    }  # fmt: skip


def _amount(found: Foreseen) -> str:
    if not found.sequences:
        return "Nothing typed yet."
    said = [counted(found.sequences, "sequence"), counted(found.bases, "base")]
    if found.tokens is not None:
        said.append(f"{'' if found.exact else 'at most '}{counted(found.tokens, 'token')} to compute")
    return ", ".join(said)


def _when(found: Foreseen) -> str:
    """How long it would take, asked now."""
    if not found.sequences or found.model is None:
        return ""
    if not found.model.served:
        return "No engine worker serves this model now: the question waits until one does."
    if found.seconds is None:
        return "No estimate: the engine has done nothing like it in the last 24 hours."
    behind = f", after {counted(found.ahead, 'item')} of other work" if found.ahead else ""
    return f"Answered in {duration_range(*found.seconds)}{behind}. More urgent work goes first."


def _is_id(said: str) -> bool:
    try:
        UUID(said)
    except ValueError:
        return False
    return True
