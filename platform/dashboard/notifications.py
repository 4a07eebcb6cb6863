"""The bell, the page of what a person was told, and an administrator's page of webhooks and of what left the house."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import QueryDict

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, Refused
from notices import delivering, endpoints, links, selectors, services
from notices.models import Delivery, Receipt
from notices.wording import words

BELL_MOST = 99  # more are told as "99+"


@dataclass(frozen=True)
class Line:
    """One notice as its person reads it."""

    id: int
    at: datetime
    order_id: UUID | None
    accession: str
    words: str
    unread: bool
    path: str  # of the page that it leads to
    delivered: bool  # it is about a report that was delivered to this person


@dataclass(frozen=True)
class Sent:
    """One delivery as an administrator reads it."""

    delivery: Delivery
    words: str
    to: str


def page(actor: Actor, *, number: int) -> dict[str, object]:
    """What this person was told, newest first."""
    rows = selectors.inbox(actor)
    first = (max(1, number) - 1) * selectors.PAGE
    found = list(rows[first : first + selectors.PAGE + 1])
    return {
        "lines": [_line(receipt) for receipt in found[: selectors.PAGE]],
        "unread": selectors.unread(actor),
        "may_follow": bool(actor.organisations(Verb.VIEW_ORDER)),
        "before": max(1, number) - 1,
        "after": max(1, number) + 1 if len(found) > selectors.PAGE else 0,
    }


def bell(actor: Actor) -> dict[str, object]:
    """The number on the bell."""
    number = selectors.unread(actor)
    return {"number": number, "words": f"{BELL_MOST}+" if number > BELL_MOST else str(number)}


def read(actor: Actor, data: QueryDict) -> int:
    """Mark as read what the form names, or everything."""
    if data.get("do") == "all":
        return services.read(actor=actor)
    wanted = [int(one) for one in data.getlist("id")[:200] if one.isdecimal() and len(one) < 16]
    return services.read(actor=actor, receipts=wanted)


def webhooks(actor: Actor) -> dict[str, object]:
    """Webhooks, and what left the house or is about to, the failed ones first. Raises `NotFound` to who administers nothing."""
    organisations = selectors.administered(actor)
    if not organisations:
        raise NotFound
    failed = selectors.deliveries(actor, state="failed")
    shown = {one.pk for one in failed}
    others = [one for one in selectors.deliveries(actor) if one.pk not in shown]
    return {
        "organisations": organisations, "endpoints": selectors.endpoints(actor),
        "failed": [_sent(one) for one in failed], "others": [_sent(one) for one in others],
    }  # fmt: skip


def change(actor: Actor, data: Mapping[str, str]) -> tuple[str, str]:
    """Do what an administrator asked for; the words that say it is done, and a secret that is shown this once."""
    match data.get("do", ""):
        case "add":
            place = next((one for one in selectors.administered(actor) if str(one.pk) == data.get("organisation")), None)
            if place is None:
                raise Refused("Choose the organisation.", code="webhook.organisation")
            made, secret = endpoints.add(
                organisation=place, name=data.get("name", ""), url=data.get("url", "").strip(), actor=actor
            )
            return f"Webhook {made.name} is there.", secret
        case "renew":
            found = selectors.endpoint_for(actor, _id(data))
            return f"Webhook {found.name} has another secret.", endpoints.renew(endpoint=found, actor=actor)
        case "remove":
            found = selectors.endpoint_for(actor, _id(data))
            endpoints.remove(endpoint=found, actor=actor)
            return f"Webhook {found.name} is removed.", ""
        case "test":
            found = selectors.endpoint_for(actor, _id(data))
            endpoints.try_out(endpoint=found, actor=actor)
            return f"A test message to {found.name} is queued; its line below says what became of it.", ""
        case "again":
            delivering.send_again(delivery=selectors.delivery_for(actor, _id(data)), actor=actor)
            return "It is queued again.", ""
    raise Refused("The page asked for nothing that can be done.", code="webhook.deed")


def refused(actor: Actor, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page again with what was typed."""
    typed = {name: data.get(name, "") for name in ("name", "url", "organisation")}
    return webhooks(actor) | {"errors": [str(error)], "typed": typed}


def _id(data: Mapping[str, str]) -> UUID:
    try:
        return UUID(data.get("id", ""))
    except ValueError:
        raise NotFound from None


def _line(receipt: Receipt) -> Line:
    notice = receipt.notice
    said, unread = words(notice.kind, notice.facts), receipt.read_at is None
    delivered = "delivery" in notice.facts
    return Line(receipt.pk, notice.at, notice.order_id, notice.accession, said, unread, links.path(notice), delivered)


def _sent(delivery: Delivery) -> Sent:
    notice = delivery.notice
    about = f"{notice.accession}: " if notice.accession else ""
    return Sent(delivery, about + words(notice.kind, notice.facts), str(delivery.endpoint or delivery.user or delivery.address))
