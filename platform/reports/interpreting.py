"""What the results mean: written and edited by people of the laboratory, each edit a row, the last one in the report."""

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from foundation.printable import printable
from orders.models import Order
from reports import making
from reports.models import Interpretation

LONGEST = 10_000
STATES = ("awaiting_review", "awaiting_second_review")


class NotNow(Refused):
    """An interpretation is written while the order awaits its review; that of an issued report changes by a correction."""


class TooLong(Refused):
    """The interpretation has more than 10,000 characters."""


def last(order: Order) -> Interpretation | None:
    """The interpretation as it stands; None: nobody wrote one."""
    found: Interpretation | None = order.interpretations.order_by("-number").first()
    return found


def write(*, order: Order, actor: Actor, text: str, expected: int) -> Interpretation:
    """Write or edit it; `expected` is the number of the edit that the person had before him (0: none).

    What waits for signatures is discarded: it says the old words. Raises `NotNow`, `TooLong`, `Stale`.
    """
    require(actor, Verb.INTERPRET, order.performing_laboratory_id)
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        if locked.state not in STATES:
            raise NotNow(code="report.not-now")
        made = edit(locked, actor, text, expected)
        making.take_back(locked, actor, "report.interpretation-edited")
    return made


def edit(locked: Order, actor: Actor, text: str, expected: int) -> Interpretation:
    """The next row of a locked order, with its event; the row there is where the words are the same."""
    if actor.id is None:
        raise NotPermitted("A person writes an interpretation.", code="access.not-permitted")
    before = last(locked)
    if (before.number if before else 0) != expected:
        who = f"{before.author_name} changed the interpretation" if before else "The interpretation changed"
        raise Stale(f"{who} meanwhile. Look at it, and add to it what is missing.", code="state.stale")
    said = cleaned(text)
    if before is not None and before.text == said:
        return before
    made = Interpretation.objects.create(
        organisation_id=locked.performing_laboratory_id, order=locked, number=expected + 1, text=said, author_id=actor.id,
        author_name=actor.name, at=clock.now(),
    )  # fmt: skip
    facts = {"number": made.number, "characters": len(said)}
    audit.record(
        actor=actor, action="order.interpreted", obj=locked, organisation_id=locked.performing_laboratory_id, facts=facts
    )  # fmt: skip
    return made


def cleaned(text: str) -> str:
    """Printable text in paragraphs. Raises `TooLong`."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    said = "\n".join(printable(line).rstrip() for line in lines).strip()
    if len(said) > LONGEST:
        raise TooLong(code="report.interpretation-too-long")
    return said
