"""Questions as their pages show them: the list, how far one is, and its answer with a picture for each strand."""

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from accounts.roles import Verb
from dashboard import question_picture, reading
from dashboard.question_picture import Picture
from dashboard.wording import between, counted, flag, ordinal
from foundation.actor import Actor
from foundation.errors import Refused
from foundation.reasons import Reason
from questions import answers, files, offered, requests, selectors, services
from questions.answers import Answer
from questions.models import Kind, Question
from questions.selectors import Standing

ROWS = 25  # of the list
SEQUENCES = 20  # of an answer on one page
FIRST_VALUES = 6  # of a vector
STATES = {"queued": "Waiting", "running": "Being answered", "scored": "Answered", "cancelled": "Cancelled"}


@dataclass(frozen=True)
class Row:
    """A question in a list."""

    question: Question
    standing: Standing
    words: str
    about: str


@dataclass(frozen=True)
class Shown:
    """The answer about one sequence, with its pictures and in words what has to be said of it."""

    answer: Answer
    pictures: list[Picture]
    remarks: list[str]
    values: str  # the first ones of a vector


@dataclass(frozen=True)
class Taken:
    """A file of an answer."""

    content: bytes
    media: str
    filename: str


def listed(actor: Actor, asked: Mapping[str, str]) -> dict[str, object]:
    """One page of the list."""
    mine, kind = asked.get("whose", "") != "all", asked.get("kind", "") if asked.get("kind") in Kind.values else ""
    page = _number(asked.get("page", ""))
    found = selectors.newest(actor, mine=mine, kind=kind or None, skip=(page - 1) * ROWS, limit=ROWS + 1)
    standings = selectors.standings(found[:ROWS])
    everybody, own = selectors.counts(actor)
    return {
        "rows": [Row(one, standings[one.pk], state_words(standings[one.pk]), _about(one)) for one in found[:ROWS]],
        "mine": mine, "kind": kind, "kinds": Kind.choices, "page": page, "more": len(found) > ROWS, "own": own,
        "everybody": everybody, "may_ask": bool(offered.laboratories(actor)),
        "moving": any(standing.open for standing in standings.values()),
    }  # fmt: skip


def shown(actor: Actor, question: Question, asked: Mapping[str, str], zone: ZoneInfo) -> dict[str, object]:
    """One question: how far it is, its answer, what can be done."""
    standing, page = selectors.standing(question), _number(asked.get("page", ""))
    first = (page - 1) * SEQUENCES
    found = answers.answers(question, first=first, last=first + SEQUENCES)
    finish = standing.finish if standing.finish is not None and standing.finish.served else None
    return {
        "question": question, "standing": standing, "words": state_words(standing), "zone_here": zone.key,
        "place": _place(standing), "finish": finish, "style": between(finish.low, finish.high) if finish else "",
        "why": _why(standing), "answers": [_shown(question, one) for one in found if one.there],
        "settings": settings_words(question), "files": files.offered(question) if standing.state == "scored" else [],
        "may_cancel": standing.open and services.may_cancel(actor, question), "page": page,
        "may_audit": actor.may(Verb.VIEW_AUDIT, question.organisation_id),
        "pages": -(-question.sequences // SEQUENCES), "provenance": next((one for one in found if one.there), None),
        "attention": flag(question.attention) if question.attention else "",
    }  # fmt: skip


def taken(actor: Actor, question: Question, name: str) -> Taken | None:
    """One file of the answer; None where there is no such. Raises `Refused` while a part of the answer is missing."""
    if name not in files.offered(question):
        return None
    if question.run.state != "scored":
        raise Refused(Reason.QUESTION_NOT_ANSWERED.words, code=str(Reason.QUESTION_NOT_ANSWERED))
    content = files.made(question, name)
    reading.question_taken(actor, question, name)
    return Taken(content, files.MEDIA[name.rpartition(".")[2]], f"{question.short}-{name}")


def state_words(standing: Standing) -> str:
    """Where it stands."""
    if standing.stuck and standing.open:
        return "Waits for a person"
    return STATES[standing.state]


def settings_words(question: Question) -> list[tuple[str, str]]:
    """What was asked for, in words."""
    said = files.settings_of(question)
    if question.kind == Kind.SCORE:
        return [("Strands", requests.STRANDS[said["strand"]])]
    if question.kind == Kind.EMBED:
        return [("Pooling", requests.POOLINGS[said["pooling"]])]
    drawn = f"temperature {said['temperature']:g}" + (f", of the {said['top_k']:,} likeliest tokens" if said["top_k"] else "")
    return [
        ("Continued by", f"{counted(said['length'], 'base')}, {counted(said['samples'], 'sample')}"),
        ("Drawn with", drawn if said["temperature"] else "temperature 0: always the likeliest token"),
        ("Seed", str(said["seed"])),
    ]


def _shown(question: Question, one: Answer) -> Shown:
    remarks = [flag(code) for code in ([one.failure] if one.failure else []) + list(one.flags)]
    pictures = [question_picture.picture(strand, one.length) for strand in one.strands]
    values = ", ".join(f"{value:.4f}" for value in one.vector[:FIRST_VALUES])
    return Shown(one, pictures, remarks, values)


def _place(standing: Standing) -> str:
    if not standing.open or standing.place is None or standing.computes:
        return ""
    return f"{ordinal(standing.place + 1)} in line"


def _why(standing: Standing) -> str:
    """Why nothing can be said of its end, or why it stands still."""
    if not standing.open or standing.stuck:
        return ""
    if not standing.served:
        return "No engine worker serves this model now. It goes on by itself as soon as one does."
    if standing.finish is None:
        return "No estimate yet: the engine has done nothing like it in the last 24 hours."
    return "Standing still for more urgent work; it goes on by itself." if standing.finish.paused else ""


def _about(question: Question) -> str:
    more = question.sequences - 1
    return question.first_name + (f" and {counted(more, 'other')}" if more else "")


def _number(said: str) -> int:
    return max(1, int(said)) if said.isdecimal() and len(said) < 7 else 1
