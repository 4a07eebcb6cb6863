"""Do something to several orders of the worklist: which ones, what is asked before it is done, and what became of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import QueryDict

from accounts.people import people_who_may
from accounts.roles import Verb
from accounts.services import require
from dashboard import filter_choices, saved_filters
from dashboard.wording import counted
from foundation.actor import Actor
from foundation.errors import Refused
from orders import several, worklist
from orders.errors import InvalidOrder
from orders.models import Order
from orders.remarks import SHORT
from orders.selectors import orders_for
from orders.several import Outcome, Wanted
from orders.urgency import HOLD_REASONS
from registry.priority import Priority

# deed: title, button, what it means
_SAID = {
    "take": ("Take orders", "Take them", "They become your work."),
    "assign": ("Assign orders", "Assign them", "They become the work of a colleague, who sees them under “Mine”."),
    "back": ("Give orders back", "Give them back", "They are nobody’s work, and are listed under “Unassigned”."),
    "hold": ("Put orders on hold", "Put them on hold", "Nothing of them starts and what runs stands still until they go on."),
    "release": ("Let orders go on", "Let them go on", "Their work continues where it stood."),
    "priority": ("Change the priority of orders", "Change the priority", "The change counts at once, for all their work."),
    "cancel": ("Cancel orders", "Cancel these orders", "Their work stops and no report comes of them, for good."),
}  # fmt: skip
_BECOMES = {"take": "yours", "assign": "the work of a colleague now", "back": "nobody’s work now"}
_AT_ONCE = {"take", "back", "release"}  # nothing has to be said


@dataclass(frozen=True)
class Form:
    """What was sent, read."""

    deed: str
    rows: list[tuple[UUID, int]]  # id and edits, as this person has seen them
    sure: bool
    whole: bool  # everything that the list's filters find
    listed: str  # the address of the list, to go back to
    single: bool = False  # one order, whose row or page is gone back to
    order_page: UUID | None = None  # it was asked on that page

    @property
    def at_once(self) -> bool:
        """Whether it is done without a question before."""
        return self.sure or (self.deed in _AT_ONCE and not self.whole)


def read(data: QueryDict) -> Form:
    """The form of the worklist, or the page that asks before."""
    single = data.get("one", "").partition(":")
    said = [single[2]] if single[2] else data.getlist("order")
    rows = [row for one in said if (row := _row(one))]
    on_page = rows[0][0] if data.get("at") == "order" and len(rows) == 1 else None
    return Form(
        deed=single[0] if single[2] else data.get("do", ""),
        rows=rows,
        single="one" in data or on_page is not None,
        order_page=on_page,
        sure=bool(data.get("sure")),
        whole=bool(data.get("all")) and not single[2],
        listed=saved_filters.canonical(data.get("list", "")),
    )


def act(actor: Actor, form: Form, data: Mapping[str, str]) -> list[Outcome]:
    """Do it. Raises `InvalidOrder` where what has to be said is missing: nothing is done then."""
    return several.act(actor=actor, rows=form.rows, wanted=_wanted(actor, form.deed, data))


def question(actor: Actor, form: Form, zone: ZoneInfo, data: Mapping[str, str], errors: Sequence[str] = ()) -> dict[str, object]:
    """What is asked before it is done, beside the orders that it will be done to. Raises `Refused`."""
    title, button, about = _SAID.get(form.deed, ("", "", ""))
    if not title:
        raise Refused("The page asked for nothing that can be done.", code="order.unknown-deed")
    require(actor, Verb.ASSIGN, *actor.organisations(Verb.VIEW_ORDER))
    orders = _whole(actor, form, zone) if form.whole else _chosen(actor, form)
    people = people_who_may(Verb.ASSIGN, {order.performing_laboratory_id for order in orders})
    return {
        "title": title, "button": button, "about": about, "deed": form.deed, "orders": orders, "list": form.listed,
        "errors": errors, "order_page": form.order_page,
        "people": [("me", "me"), *((str(user.pk), user.name) for user in people if user.pk != actor.id)],
        "holds": [(str(reason), reason.words) for reason in HOLD_REASONS], "priorities": [priority.value for priority in Priority],
        "needs_words": form.deed in several.NEEDS_WORDS, "most": several.NEEDS_WORDS.get(form.deed, {}).get("most", SHORT),
        "said": {name: data.get(name, "") for name in ("to", "hold", "priority", "reason")},
    }  # fmt: skip


def outcome(form: Form, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What became of each."""
    return {
        "title": _SAID[form.deed][0],
        "list": form.listed,
        "done": [one for one in outcomes if one.done],
        "refused": [one for one in outcomes if not one.done],
    }


def words(outcomes: Sequence[Outcome], deed: str) -> str:
    """The same of one order, in a line."""
    one = outcomes[0]
    if not one.done:
        return one.words
    return f"Order {one.order} is {_BECOMES[deed]}." if deed in _BECOMES else f"{_SAID[deed][0]}: {counted(1, 'order')} done."


def refusals(error: InvalidOrder) -> list[str]:
    """Why nothing was done."""
    return [message for field in error.fields.values() for message in field]


def _wanted(actor: Actor, deed: str, data: Mapping[str, str]) -> Wanted:
    to = data.get("to", "")
    person = actor.id if to == "me" else _uuid(to)
    return Wanted(deed, person, data.get("hold", ""), data.get("priority", ""), data.get("reason", ""))


def _chosen(actor: Actor, form: Form) -> list[Order]:
    """The orders that were ticked, as they stand now, in that order; one that this person may not see is none."""
    if len(form.rows) > several.MOST:
        raise Refused(f"At most {several.MOST} orders are changed at once.", code="order.too-many")
    found = orders_for(actor, [pk for pk, _ in form.rows])
    return [found[pk] for pk, _ in form.rows if pk in found]


def _whole(actor: Actor, form: Form, zone: ZoneInfo) -> list[Order]:
    asked = filter_choices.read(actor, QueryDict(form.listed), zone)
    found = worklist.selected(actor, asked.filters, most=several.MOST + 1)
    if len(found) > several.MOST:
        raise Refused(f"More than {several.MOST} orders match. Narrow the list first.", code="order.too-many")
    return found


def _row(text: str) -> tuple[UUID, int] | None:
    pk, _, edits = text.partition(":")
    found = _uuid(pk)
    return (found, int(edits)) if found and edits.isdecimal() and len(edits) < 10 else None


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
