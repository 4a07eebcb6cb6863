"""The page on which a report is signed: exactly what is signed, its hash, who has signed, and the proof in the same form."""

from collections.abc import Mapping
from uuid import UUID

from accounts import step_up
from accounts.roles import Verb
from dashboard.patients_page import complaints
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotPermitted, Stale
from orders.models import Order
from orders.selectors import order_for
from reports import document, making, release, services, signing
from reports.models import Meaning, ReportVersion


def page(actor: Actor, order: Order) -> dict[str, object]:
    """What waits for signatures, if anything does."""
    version = making.waiting(order)
    if version is None:
        return {"order": order, "version": None}
    left = release.missing(version)
    laboratory = order.performing_laboratory_id
    return {
        "order": order,
        "version": version,
        "document": document.compose(version),
        "changed": services.changed(version, order),
        "meaning": signing.open_to(actor, version),
        "left": left,
        "why_not": signing.objections(actor, version, left[0]) if left else (),
        "signatures": list(version.signatures.order_by("at")),
        "may_withdraw": actor.may(Verb.REVIEW, laboratory),
    }


def sign(actor: Actor, order: Order, data: Mapping[str, str]) -> ReportVersion:
    """Prove, then sign what was shown. Raises `NotProven`, `Stale` where another version or content stands there now."""
    version = making.waiting(order)
    if version is None or version.content_sha256 != data.get("sha256"):
        raise Stale("This is not what you were shown: another version waits now, or none. Look at it again.", code="state.stale")
    meaning = signing.open_to(actor, version)
    if meaning is None or meaning != data.get("meaning"):
        left = release.missing(version)
        why = signing.objections(actor, version, left[0]) if left else ()
        raise NotPermitted(" ".join(why) or "Another signature comes first now. Look at it again.", code="report.not-for-you")
    proof = step_up.prove(actor=actor, about=signing.about(version), given=data.get("password", ""))
    return signing.sign(version=version, meaning=Meaning(meaning), actor=actor, proof=proof)


def refused(actor: Actor, pk: UUID, error: HelicaseError) -> dict[str, object]:
    """The page as things stand now, and why nothing was signed."""
    return page(actor, order_for(actor, pk)) | {"errors": complaints(error)}
