"""The extensions of an order: why it is STAT, and what was true of one that was taken on paper in a downtime."""

from datetime import UTC
from typing import Any

from foundation.reasons import Reason
from interop.fhir import received, systems
from interop.fhir.elements import OrderExtension
from interop.fhir.outcomes import refused
from orders.models import LateEntry
from orders.requests import LateDetails

_TEXTS = {"downtime": "downtime", "reason": "reason", "takenBy": "taken_by", "words": "words", "condition": "condition"}
_NEEDED = ("downtime", "reason", "takenBy")


def stat_reason(order: received.ServiceRequest, place: str) -> str:
    """Why it is STAT; blank: nobody says. Raises `FhirError` for an extension that is not one of ours, or stands twice."""
    said = ""
    for index, one in enumerate(order.extension):
        here = f"{place}.extension[{index}]"
        if one.url not in (systems.STAT_REASON, systems.LATE_ENTRY):
            raise refused(Reason.FHIR_NOT_CARRIED, f"{here}.url", type="extension")
        if index and one.url == order.extension[0].url:
            raise refused(Reason.FHIR_VALUE, f"{here}.url", type="duplicate", detail="it stands here twice")
        if one.url == systems.STAT_REASON:
            said = _text(one.valueString, f"{here}.valueString")
    return said


def details(order: received.ServiceRequest, place: str) -> LateDetails | None:
    """What was true of an order that was taken on paper; `authoredOn` is when it was asked for. None: it is asked for now."""
    at = next((number for number, one in enumerate(order.extension) if one.url == systems.LATE_ENTRY), None)
    if at is None:
        return None
    if order.authoredOn is None:
        raise refused(Reason.FHIR_REQUIRED, f"{place}.authoredOn", type="required")
    said = _parts(order.extension[at], f"{place}.extension[{at}]")
    return LateDetails(requested_at=order.authoredOn.astimezone(UTC), **said)


def shown(entry: LateEntry) -> dict[str, Any]:
    """The extension as it is told."""
    said = {"downtime": entry.downtime.code, "reason": entry.reason, "takenBy": entry.taken_by_words, "words": entry.words}
    parts: list[dict[str, str]] = [{"url": name, "valueString": text} for name, text in said.items() if text]
    if entry.received_at:
        parts.append({"url": "received", "valueDateTime": entry.received_at.astimezone(UTC).isoformat(timespec="seconds")})
    return {"url": systems.LATE_ENTRY, "extension": parts}


def _parts(extension: OrderExtension, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for index, part in enumerate(extension.extension):
        here = f"{place}.extension[{index}]"
        if part.url == "received" and part.valueDateTime is None:
            raise refused(Reason.FHIR_REQUIRED, f"{here}.valueDateTime", type="required")
        name = _TEXTS.get(part.url, "received_at")
        text_or_moment = part.valueDateTime if part.url == "received" else _text(part.valueString, f"{here}.valueString")
        found[name] = text_or_moment.astimezone(UTC) if not isinstance(text_or_moment, str) and text_or_moment else text_or_moment
    for name in _NEEDED:
        if _TEXTS[name] not in found:
            raise refused(Reason.FHIR_REQUIRED, f"{place}.extension", type="required")
    return found


def _text(said: str | None, place: str) -> str:
    if not said:
        raise refused(Reason.FHIR_REQUIRED, place, type="required")
    return said
