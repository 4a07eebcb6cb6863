"""Every signature of a period, and whether it still stands over the content of its version."""

from collections.abc import Iterator
from hashlib import sha256
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from inspection import periods
from inspection.event_words import in_full
from inspection.models import AuditReport
from inspection.tables import Cells, Table, Told
from reports.models import Signature

PAGE = 200  # versions in memory at once: their content may be megabytes
COLUMNS = (
    "order", "version", "kind", "state", "meaning", "signed by", "address", "signed at", "proof", "over its content",
    "content SHA-256", "document SHA-256", "signature",
)  # fmt: skip


def told(report: AuditReport, zone: ZoneInfo) -> Told:
    """The report, its rows still to be read."""
    since, until = periods.moments(report.asked, zone)
    found = Signature.objects.filter(organisation_id=report.organisation_id, at__gte=since, at__lt=until)
    count = found.count()
    facts = [
        ("Period", periods.words(report.asked)), ("Signatures", f"{count:,}"),
        ("People", f"{found.values('signer').distinct().count():,}"),
    ]  # fmt: skip
    notes = ["“Over its content”: the SHA-256 of the version's content, computed for this report, is the one that was signed."]
    table = Table("signatures", "Signatures, the oldest first", COLUMNS, _rows(found, zone), "No signature.", tuple(range(10)))
    return Told(facts, [table], count, notes)


def _rows(found: QuerySet[Signature], zone: ZoneInfo) -> Iterator[Cells]:
    keys = list(found.order_by("at", "pk").values_list("pk", flat=True))
    for first in range(0, len(keys), PAGE):
        batch = keys[first : first + PAGE]
        page = Signature.objects.filter(pk__in=batch).select_related("report_version__order", "signer").order_by("at", "pk")
        for signature in page:
            yield _cells(signature, zone)


def _cells(signature: Signature, zone: ZoneInfo) -> Cells:
    version = signature.report_version
    stands = sha256(version.content.encode()).hexdigest() == signature.content_sha256 == version.content_sha256
    return (
        version.order.accession, str(version.number), version.get_kind_display().lower(), version.state.replace("_", " "),
        signature.meaning, signature.printed_name, signature.signer.email, in_full(signature.at, zone),
        signature.method, "yes" if stands else "NO", signature.content_sha256, version.document_sha256, str(signature.pk),
    )  # fmt: skip
