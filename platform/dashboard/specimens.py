"""The reception of specimens: what is expected, what came, and the page on which one is received or rejected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from accounts.roles import Verb
from dashboard import local_time
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from orders import arrivals, reception, rejection, specimen_corrections
from orders.errors import InvalidOrder
from orders.models import Order
from orders.reception import Arrival
from orders.specimen_models import Condition, SpecimenCorrection

FOLDS = (("0", "the first one (summer time)"), ("1", "the second one (standard time)"))
DONE = {
    "receive": "The specimen of order {} is received.",
    "reject": "The specimen of order {} is rejected, and its requester is told.",
    "take_back": "It is taken back. What stood on the specimen of order {} stays on record.",
    "read": "You have read that the specimen of order {} was rejected.",
}


@dataclass
class SpecimenPage:
    """One specimen as the page shows it, with what was typed and what has to be corrected."""

    order: Order
    zone: ZoneInfo
    may_receive: bool
    may_reject: bool
    may_take_back: bool
    typed: Mapping[str, str]
    errors: dict[str, list[str]] = field(default_factory=dict)
    taken_back: list[SpecimenCorrection] = field(default_factory=list)  # what was a mistake, the latest first
    deed: str = ""  # what was asked for when something was wrong

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """In which condition it can come."""
        return list(Condition.choices)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Why it can be rejected."""
        return [(str(reason), reason.words) for reason in rejection.REASONS]

    @property
    def folds(self) -> tuple[tuple[str, str], ...]:
        """The two moments of a time that came twice; nothing where it did not."""
        return FOLDS if "received_fold" in self.errors or self.typed.get("received_fold") else ()

    @property
    def summary(self) -> list[tuple[str, str]]:
        """(anchor, message) of everything that has to be corrected."""
        anchors = {"": "main", "words": "id_rejected_words" if self.deed == "reject" else "id_words"}
        return [(anchors.get(name, f"id_{name}"), said) for name, messages in self.errors.items() for said in messages]


def desk(actor: Actor, scan: str) -> dict[str, object]:
    """The page of the reception; what a scanned label can mean, where it means several orders or none."""
    return {
        "scan": scan,
        "found": arrivals.scanned(actor, scan),
        "expected": arrivals.expected(actor),
        "received": arrivals.received(actor),
    }


def page(actor: Actor, order: Order, typed: Mapping[str, str] | None = None, error: HelicaseError | None = None) -> SpecimenPage:
    """The page of one specimen. Its times are those of the performing site, whoever looks."""
    zone, state = order.performing_site.zone, order.specimen.state
    default = {"received_at": local_time.shown(clock.now(), zone), "condition": Condition.ACCEPTABLE.value}
    laboratory = order.performing_laboratory_id
    return SpecimenPage(
        order=order,
        zone=zone,
        may_receive=state == "expected" and actor.may(Verb.RECEIVE_SPECIMEN, laboratory),
        may_reject=state != "rejected" and order.state in Order.OPEN and actor.may(Verb.REJECT_SPECIMEN, laboratory),
        may_take_back=specimen_corrections.may_correct(actor, order),
        taken_back=specimen_corrections.taken_back(order),
        typed=typed or default,
        errors=_errors(error),
        deed=(typed or {}).get("do", ""),
    )


def may_see_to(actor: Actor, order: Order) -> bool:
    """Whether this person receives or rejects the specimen of this order as it stands."""
    state, laboratory = order.specimen.state, order.performing_laboratory_id
    receives = state == "expected" and actor.may(Verb.RECEIVE_SPECIMEN, laboratory)
    rejects = state != "rejected" and order.state in Order.OPEN and actor.may(Verb.REJECT_SPECIMEN, laboratory)
    return receives or rejects or specimen_corrections.may_correct(actor, order)


def change(*, actor: Actor, order: Order, data: Mapping[str, str]) -> str:
    """Do what the form asks; the words that say it is done. Raises what the services raise."""
    match data.get("do", ""):
        case "receive":
            reception.receive(order=order, arrival=_arrival(order, data), actor=actor)
        case "reject":
            rejection.reject(order=order, reason=data.get("reason", ""), words=data.get("rejected_words", ""), actor=actor)
        case "take_back":
            seen = data.get("version", "")
            version = int(seen) if seen.isdecimal() and len(seen) < 10 else 0
            words = data.get("correction_words", "")
            specimen_corrections.take_back(order=order, words=words, actor=actor, expected_version=version)
        case "read":
            rejection.read(order=order, actor=actor)
        case _:
            raise Refused("The page asked for nothing that can be done.", code="specimen.unknown-deed")
    return DONE[data["do"]].format(order.accession)


def _arrival(order: Order, data: Mapping[str, str]) -> Arrival:
    return Arrival(
        received_at=_moment(order.performing_site.zone, data),
        condition=data.get("condition", ""),
        words=data.get("words", ""),
        late_reason=data.get("late_reason", ""),
    )


def _moment(zone: ZoneInfo, data: Mapping[str, str]) -> datetime:
    """When it came: digits by the clock on the wall of the site; those of this minute mean this moment."""
    typed, now = data.get("received_at", ""), clock.now()
    if typed == local_time.shown(now, zone):
        return now
    try:
        return local_time.read(typed, data.get("received_fold", ""), zone)
    except local_time.Unclear as error:
        twice = "came twice" in str(error)
        raise InvalidOrder({"received_fold" if twice else "received_at": [str(error)]}) from error


def _errors(error: HelicaseError | None) -> dict[str, list[str]]:
    if error is None:
        return {}
    if not isinstance(error, InvalidOrder):
        return {"": [str(error)]}
    return error.fields
