"""What auditors and directors read of audit reports: those of their laboratory."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from accounts.models import Organisation
from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotFound
from inspection.errors import Damaged
from inspection.models import AuditReport
from storage import services as storage

LIST = 50
_BLOCK = 1 << 20


def laboratories(actor: Actor) -> list[Organisation]:
    """Where this person may have reports made, by name."""
    mine = Organisation.objects.filter(pk__in=actor.organisations(Verb.VIEW_AUDIT), is_laboratory=True)
    return list(mine.order_by("name"))


def newest(actor: Actor) -> list[AuditReport]:
    """The last ones that were asked for."""
    found = AuditReport.objects.for_actor(actor).select_related("asked_by", "organisation").defer("shown")
    return list(found.order_by("-asked_at")[:LIST])


def report_for(actor: Actor, pk: UUID) -> AuditReport:
    """Raises `NotFound` for one of another laboratory as for one that is not there."""
    found: AuditReport | None = (
        AuditReport.objects.for_actor(actor).select_related("asked_by", "organisation", "pack").filter(pk=pk).first()
    )
    if found is None:
        raise NotFound
    return found


def files(report: AuditReport) -> list[str]:
    """The files of its pack, as the pack lists them. Raises `Damaged`."""
    if report.pack is None:
        return []
    with zipfile.ZipFile(_kept(report)) as pack:
        return pack.namelist()


def content(report: AuditReport, name: str) -> Iterator[bytes]:
    """One file of the pack, in blocks. Raises `NotFound` where there is none of this name, and `Damaged`."""
    path = _kept(report)
    with zipfile.ZipFile(path) as pack:
        if name not in pack.namelist():
            raise NotFound
    return _blocks(path, name)


def whole(report: AuditReport) -> Iterator[bytes]:
    """The pack itself, in blocks. Raises `NotFound` before it is made, and `Damaged`."""
    return _blocks(_kept(report))


def _kept(report: AuditReport) -> Path:
    """Where the pack lies, its bytes compared with their digest. Raises `NotFound` and `Damaged`."""
    if report.pack is None:
        raise NotFound
    path = storage.path_of(report.pack.sha256)
    try:
        with path.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == report.pack.sha256
    except OSError as error:
        raise Damaged(code="audit.report-damaged") from error
    if not same:
        raise Damaged(code="audit.report-damaged")
    return path


def _blocks(path: Path, name: str = "") -> Iterator[bytes]:
    if not name:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
        return
    with zipfile.ZipFile(path) as pack, pack.open(name) as member:
        while block := member.read(_BLOCK):
            yield block
