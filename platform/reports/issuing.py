"""Issue a report: rendered once, stored, and from then on read from the store."""

import base64
import hashlib
from typing import Any

from django.core.cache import cache

from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, Refused
from orders import hints
from orders.machines import ORDER
from orders.models import Order
from reports import delivering, document, pdf, release
from reports.machines import REPORT
from reports.models import ReportKind, ReportVersion
from storage import services as storage

LARGEST = 200_000_000  # bytes of one document
KEPT = 86_400  # seconds that size and hash of a document are kept; its name is its content


class NotReleasable(Refused):
    """Something stands against releasing this report."""


class Damaged(HelicaseError):
    """The stored document is missing, or is not the one that was issued. Do not use it; tell who runs the laboratory's system."""


def issue(*, version: ReportVersion, order: Order, actor: Actor) -> None:
    """Issue a fully signed version of a locked order, inside the transaction of its last signature. Raises `NotReleasable`."""
    verdict = release.releasable(version)
    if not verdict.ok:
        raise NotReleasable(" ".join(reason.label for reason in verdict.reasons), code=str(verdict.reasons[0]))
    now = clock.now()
    body = pdf.render(version, document.compose(version, issued_at=now), issued_at=now)
    written = storage.write(chunks=[body], limit=LARGEST)
    name = f"{order.accession}-report-{version.number}.pdf"
    stored = storage.record(written=written, organisation_id=order.performing_laboratory_id, kind="report", name=name)
    for old in order.reports.select_for_update().filter(state="released"):
        audit.transition(REPORT, old, to="superseded", actor=actor, reason="report.superseded")
    changes: dict[str, Any] = {"released_at": now, "document": stored, "document_sha256": written.sha256}
    audit.transition(REPORT, version, to="released", actor=actor, reason="report.issued", **changes)
    facts = {
        "order": str(order.pk), "number": version.number, "kind": version.kind, "content_sha256": version.content_sha256,
        "document_sha256": written.sha256, "supersedes": str(version.supersedes_id or ""),
    }  # fmt: skip
    audit.record(
        actor=actor, action="report.issued", obj=version, organisation_id=order.performing_laboratory_id, facts=facts
    )  # fmt: skip
    if version.kind != ReportKind.PRELIMINARY and order.state != "reported":
        audit.transition(ORDER, order, to="reported", actor=actor, ended_at=now, edits=order.edits + 1)
    else:
        order.version += 1
        order.save(update_fields=["version"])
    delivering.announce(version=version, order=order, actor=actor)
    hints.changed(order)


def issued_pdf(version: ReportVersion) -> bytes:
    """The very bytes that were issued. Raises `Damaged` where the store holds others."""
    path = storage.path_of(version.document_sha256)
    body = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(body).hexdigest() != version.document_sha256:
        raise Damaged(code="report.damaged")
    return body


def fixity(version: ReportVersion) -> dict[str, Any]:
    """Size and hash of an issued document, as a FHIR Attachment has them: bytes, and SHA-1 in base64. Of a damaged one nothing."""
    key = f"reports.fixity.{version.document_sha256}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        try:
            body = issued_pdf(version)
        except Damaged:
            return {}
        digest = hashlib.sha1(body, usedforsecurity=False).digest()
        found = {"size": len(body), "hash": base64.b64encode(digest).decode()}
        cache.set(key, found, KEPT)
    return found


def as_pdf(version: ReportVersion) -> bytes:
    """What was issued, from the store; what is not issued yet, rendered."""
    return issued_pdf(version) if version.document_sha256 else pdf.render(version, document.compose(version))
