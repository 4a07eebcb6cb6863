"""The audit tabs of an order and of a question: events in words and by part; of an order as CSV, too."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from accounts.roles import Verb
from audit.models import Event
from casefile import question_trail, trail
from casefile.trail import Trail
from dashboard.wording import flag
from foundation.actor import Actor
from inspection.event_words import in_full, line
from orders.models import Order
from questions.models import Question
from reports.spreadsheet import disarmed

HEAD = ("time (UTC)", "time", "who", "from", "what", "object", "object id", "reason", "facts")


def page(actor: Actor, order: Order, asked: Mapping[str, str], zone: ZoneInfo) -> dict[str, object]:
    """One page of the trail, its filters, and who looked at the patient."""
    found = trail.trail(actor, order, part=asked.get("part", ""), page=_number(asked))
    return _shown(found, trail.PARTS, zone) | {
        "order": order,
        "looks": trail.looks(actor, order),
        "may_see": actor.may(Verb.VIEW_ORDER, order.performing_laboratory_id),
        "may_export": actor.may(Verb.EXPORT, order.performing_laboratory_id),
    }


def of_question(actor: Actor, question: Question, asked: Mapping[str, str], zone: ZoneInfo) -> dict[str, object]:
    """One page of the trail of a question, its filters, and who looked at it."""
    found = question_trail.of(actor, question, part=asked.get("part", ""), page=_number(asked))
    return _shown(found, question_trail.PARTS, zone) | {
        "question": question,
        "looks": question_trail.looks(actor, question),
        "may_see": actor.may(Verb.ASK, question.organisation_id),
    }


def as_csv(events: Iterable[Event], zone: ZoneInfo) -> Iterator[str]:
    """The trail for a spreadsheet, oldest first; cells that a spreadsheet would compute are made text."""
    yield _row(HEAD)
    for event in events:
        told = line(event, zone, flag)
        moment = (event.at.isoformat(), in_full(event.at, zone))
        what = (told.what, told.about, event.object_id, event.reason, json.dumps(event.facts, ensure_ascii=False, sort_keys=True))
        yield _row((*moment, event.actor_name, told.origin, *what))


def _number(asked: Mapping[str, str]) -> int:
    return int(asked["page"]) if asked.get("page", "").isdecimal() and len(asked["page"]) < 7 else 1


def _shown(found: Trail, kinds: Mapping[str, tuple[str, tuple[str, ...]]], zone: ZoneInfo) -> dict[str, object]:
    parts = [("", "Everything"), *((key, words) for key, (words, _) in kinds.items()), ("reads", "Who looked")]
    return {
        "trail": found,
        "lines": [line(event, zone, flag) for event in found.events],
        "parts": [(key, words, f"?{urlencode({'part': key})}" if key else "?", key == found.part) for key, words in parts],
    }


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([disarmed(cell) for cell in cells])
    return out.getvalue()
