"""When an order will be done, and when it stood still: what the order page and the worklist say of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from dashboard import engine_line
from dashboard.wording import between, counted, duration
from engine_queue import selectors
from engine_queue.whereabouts import Pause, pauses_of
from foundation import clock
from orders.estimates import ESTIMATED, Finish, finishes, if_it_went_on
from orders.models import Order

NO_ESTIMATE = "no estimate yet: this engine has scored nothing like it in the last 24 hours"
NOBODY = "no estimate: no engine worker serves it now"
PERSON = "no estimate: a part of it waits for a person"
BEHIND_STAT = "waiting for STAT work to finish"
SHOWN = 6  # pauses told one by one, the latest


@dataclass(frozen=True)
class Stop:
    """A time in which nothing of an order was computed, because more urgent work was."""

    since: datetime
    until: datetime | None  # None: it lasts
    lasted: str  # in words; empty while it lasts


@dataclass(frozen=True)
class Outlook:
    """What can be said of the end of an order."""

    finish: Finish | None = None  # to be shown
    words: str = ""  # why it does not move, or why there is no estimate
    stops: tuple[Stop, ...] = ()  # oldest first
    earlier: int = 0  # stops before those
    earlier_words: str = ""
    if_it_went_on: Finish | None = None  # of an order on hold

    @property
    def standing(self) -> Stop | None:
        """The stop that lasts."""
        return self.stops[-1] if self.stops and self.stops[-1].until is None else None

    @property
    def style(self) -> str:
        """How exactly the ends of the estimate are worth being said."""
        shown = self.finish or self.if_it_went_on
        return between(shown.low, shown.high) if shown else ""


def outlook(order: Order) -> Outlook:
    """Of one order."""
    stops, earlier, words = stops_of(order)
    if order.hold_reason and order.state in ESTIMATED:
        return Outlook(None, "", stops, earlier, words, if_it_went_on(order))
    if order.state not in ESTIMATED:
        return Outlook(None, "", stops, earlier, words)
    finish, behind = finishes([order]).get(order.pk), engine_line.behind_stat(order)
    stands = finish is not None and finish.paused  # its worker has said so just now
    stopped = "" if behind or stands else engine_line.stopped(order)
    why = BEHIND_STAT if behind else stopped or _why(order, finish)
    return Outlook(finish if finish is not None and finish.served and not stopped else None, why, stops, earlier, words)


def of_rows(orders: Iterable[Order]) -> dict[UUID, Finish]:
    """The estimates of the rows of a list, by order: those that a worker stands behind."""
    return {pk: finish for pk, finish in finishes(orders).items() if finish.served}


def stops_of(order: Order) -> tuple[tuple[Stop, ...], int, str]:
    """When an order stood still: the latest stops, how many there were before, and how long those were together."""
    run = selectors.clinical_run(order.pk)
    parts = selectors.parts(run) if run else []
    found = pauses_of(parts, clock.now().timestamp()) if parts else ()
    before, shown = found[:-SHOWN], found[-SHOWN:]
    spent = duration(sum(pause.until - pause.since for pause in before if pause.until is not None))
    words = f"{counted(len(before), 'earlier pause')} for more urgent work, {spent} in all" if before else ""
    return tuple(_stop(pause) for pause in shown), len(before), words


def _why(order: Order, finish: Finish | None) -> str:
    if finish is None:
        return PERSON if selectors.waits_for_person(order.pk) else NO_ESTIMATE
    return "" if finish.served else NOBODY


def _stop(pause: Pause) -> Stop:
    if pause.until is None:
        return Stop(_moment(pause.since), None, "")
    return Stop(_moment(pause.since), _moment(pause.until), duration(pause.until - pause.since))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
