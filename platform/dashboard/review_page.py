"""The review page: what a reviewer looks at, and what he decides; and the page on which a report is corrected."""

from collections.abc import Callable, Mapping
from uuid import UUID

from accounts.roles import Verb
from dashboard import order_page, track_part
from dashboard.patients_page import complaints, whole
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from orders.models import Order
from orders.selectors import order_for
from registry.priority import Priority
from reports import correcting, document, interpreting, making, release, reviewing, selectors, services
from reports.content import parse
from reports.models import ReportVersion, Review
from reports.services import TooLarge

_NOBODY = UUID(int=0)


class NotConfirmed(Refused):
    """Tick the box to confirm it."""


def page(actor: Actor, order: Order, parameters: Mapping[str, str]) -> dict[str, object]:
    """Everything around one decision. The draft is made when it is first looked at."""
    draft, waiting, last = _draft(actor, order), making.waiting(order), interpreting.last(order)
    asked = selectors.asked({"sort": "magnitude", **dict(parameters.items())})
    return {
        "order": order,
        "draft": draft,
        "document": document.compose(draft) if draft else None,
        "panel": selectors.results_panel(actor, order, sort=asked.sort, filter=asked.filter, page=asked.page),
        "flags": order_page.flags(order),
        "last": last,
        "text": last.text if last else "",
        "edit": last.number if last else 0,
        "edits": list(order.interpretations.order_by("-number")[:10]),
        "reviews": list(Review.objects.for_actor(actor).filter(order=order).order_by("-at")[:10]),
        "waiting": waiting,
        "open": order.state in interpreting.STATES,
        "too_large": _too_large(order),
        **track_part.part(actor, order, parameters.get("track", "")),
        **_may(actor, order, draft, waiting),
    }


def decide(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, ReportVersion | None]:
    """Do what was asked for. Returns what to say, and the version to be signed where there is one."""
    deed = _DEEDS.get(data.get("do", ""))
    if deed is None:
        raise Refused("Choose what to do.", code="report.no-deed")
    return deed(actor, order, data)


def refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The page as things stand now, with what was typed and why nothing was done."""
    typed = {"text": data["text"]} if "text" in data else {}
    return page(actor, order_for(actor, pk), {}) | typed | {"note": data.get("note", ""), "errors": complaints(error)}


def correction(actor: Actor, order: Order) -> dict[str, object]:
    """The page on which a report that stands is corrected or amended."""
    last, standing = interpreting.last(order), correcting.correctable(order)
    return {
        "order": order,
        "standing": standing,
        "waiting": making.waiting(order),
        "may": actor.may(Verb.CORRECT, order.performing_laboratory_id),
        "text": parse(standing.content).interpretation.text if standing else "",  # whatever a correction said that was withdrawn
        "edit": last.number if last else 0,
        "kind": "corrected",
    }


def correct(actor: Actor, order: Order, data: Mapping[str, str]) -> ReportVersion:
    """Make the version that corrects or amends."""
    return correcting.correct(
        order=order, actor=actor, kind=data.get("kind", ""), reason=data.get("reason", ""), text=data.get("text", ""),
        edit=whole(data, "edit"), standing=_uuid(data.get("standing", "")),
    )  # fmt: skip


def correction_refused(actor: Actor, pk: UUID, data: Mapping[str, str], error: HelicaseError) -> dict[str, object]:
    """The same, with what was typed and why nothing was done."""
    typed = {name: data.get(name, "") for name in ("kind", "reason", "text")}
    return correction(actor, order_for(actor, pk)) | typed | {"errors": complaints(error)}


def _draft(actor: Actor, order: Order) -> ReportVersion | None:
    """What is reviewed; None where there is nothing to review, or it is past."""
    run = release.newest_run(order)
    if order.state not in interpreting.STATES or run is None or run.state != "scored" or making.waiting(order):
        return None
    try:
        return services.draft(order=order, run=run, actor=actor)
    except TooLarge:
        return None


def _too_large(order: Order) -> str:
    """That no report can be made of it, in words; blank: one can."""
    run = release.newest_run(order)
    if run is None or run.items_total <= services.LARGEST:
        return ""
    return (
        f"This order has {run.items_total:,} results, and a report holds at most {services.LARGEST:,}: it cannot be reviewed, "
        "signed or released. The laboratory reads its results here, as CSV and by the API. For reports, cancel it and place its "
        "variants as several orders."
    )


def _may(actor: Actor, order: Order, draft: ReportVersion | None, waiting: ReportVersion | None) -> dict[str, object]:
    laboratory = order.performing_laboratory_id
    preliminary = order.priority == Priority.STAT and draft is not None and release.released_version(order) is None
    return {
        "may_interpret": order.state in interpreting.STATES and actor.may(Verb.INTERPRET, laboratory),
        "may_review": draft is not None and actor.may(Verb.REVIEW, laboratory),
        "may_be_final": draft is not None and reviewing.may_be_final(draft.run),
        "may_release": preliminary and waiting is None and actor.may(Verb.RELEASE_PRELIMINARY, laboratory),
    }


def _interpret(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, None]:
    interpreting.write(order=order, actor=actor, text=data.get("text", ""), expected=whole(data, "edit"))
    return "The interpretation is kept, under your name.", None


def _approve(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, ReportVersion]:
    version = reviewing.approve(order=order, actor=actor, seen=_seen(data), note=data.get("note", ""))
    return f"Approved. Version {version.number} of the report waits for signatures.", version


def _preliminary(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, ReportVersion]:
    version = reviewing.preliminary(order=order, actor=actor, seen=_seen(data))
    return "The preliminary report is released by your signature.", version


def _return(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, None]:
    reviewing.send_back(order=order, actor=actor, seen=_seen(data), note=data.get("note", ""))
    return f"Order {order.accession} is run again, with the due times it had. It comes back to review when that is scored.", None


def _reject(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, None]:
    if not data.get("confirmed"):
        raise NotConfirmed(code="report.not-confirmed")
    reviewing.reject(order=order, actor=actor, seen=_seen(data), note=data.get("note", ""))
    return f"The results of {order.accession} are rejected: no report comes of it, and its requester can read why.", None


def _withdraw(actor: Actor, order: Order, data: Mapping[str, str]) -> tuple[str, None]:
    reviewing.withdraw(order=order, actor=actor, seen=_seen(data))
    return "What waited for signatures is discarded.", None


def _seen(data: Mapping[str, str]) -> UUID:
    return _uuid(data.get("version", ""))


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return _NOBODY


Deed = Callable[[Actor, Order, Mapping[str, str]], tuple[str, ReportVersion | None]]
_DEEDS: dict[str, Deed] = {
    "interpret": _interpret, "approve": _approve, "return": _return, "reject": _reject, "preliminary": _preliminary,
    "withdraw": _withdraw,
}  # fmt: skip
