"""What a row names and does not hold: the test with its laboratory, and the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings

from accounts.models import Provider, Site
from accounts.services import actor_for
from foundation.reasons import Reason
from orders import selectors
from orders.manifests.errors import Objection, objection
from orders.models import Manifest, ManifestRow
from registry.models import TestVersion
from storage import services as storage
from storage.models import StoredFile

if TYPE_CHECKING:
    from orders.manifests.checking import Opened

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
NAMED_AT_MOST = 20


@dataclass(frozen=True)
class Desk:
    """The newest offered version of each test its sender can order."""

    tests: list[TestVersion]

    @classmethod
    def of(cls, manifest: Manifest) -> Desk:
        newest: dict[UUID, TestVersion] = {}
        for test in selectors.offered_tests(actor_for(manifest.created_by)):
            newest.setdefault(test.definition_id, test)
        return cls(list(newest.values()))


def find_test(desk: Desk, cells: dict[str, str]) -> tuple[TestVersion | None, Objection | None]:
    """The test with the row's code, at the row's laboratory where it names one."""
    code, laboratory = cells["test"].casefold(), cells["laboratory"].casefold()
    called = [test for test in desk.tests if test.definition.code.casefold() == code]
    if laboratory:
        called = [test for test in called if test.definition.laboratory.code.casefold() == laboratory]
    if len(called) == 1:
        return called[0], None
    if called:
        known = ", ".join(test.definition.laboratory.code for test in called[:NAMED_AT_MOST])
        return None, objection("laboratory", Reason.MANIFEST_TEST_SEVERAL, known=known)
    known = ", ".join(sorted({test.definition.code for test in desk.tests})[:NAMED_AT_MOST]) or "none"
    return None, objection("test", Reason.MANIFEST_TEST_UNKNOWN, known=known)


def find_provider(manifest: Manifest, named: str) -> tuple[UUID | None, Objection | None]:
    """The open provider of the ordering organisation with this identifier, or else with this name."""
    if not named:
        return None, None
    mine = Provider.objects.filter(organisation_id=manifest.ordering_organisation_id, active=True)
    found = list(mine.filter(identifier=named)[:2]) or list(mine.filter(name__iexact=named)[:2])
    if len(found) == 1:
        return found[0].pk, None
    return None, objection("provider", Reason.MANIFEST_PROVIDER, name=named[:80], found="several" if found else "no")


def find_site(manifest: Manifest, code: str) -> tuple[Site | None, Objection | None]:
    """The open site of the ordering organisation with this code."""
    if not code:
        return None, None
    mine = Site.objects.filter(organisation_id=manifest.ordering_organisation_id, active=True)
    found: Site | None = mine.filter(code__iexact=code).first()
    return found, None if found else objection("site", Reason.MANIFEST_SITE, code=code[:40])


def find_file(at: Opened, row: ManifestRow) -> tuple[str, StoredFile | None, Objection | None]:
    """The entry of the ZIP and the stored file a row names; raises `ManifestRefused`, `TooLarge` or `NoSpace` for a bad entry."""
    name = row.cells["file"]
    if not name:
        return "", None, objection("file", Reason.MANIFEST_FILE_MISSING, name="(empty)", where="to be checked")
    if at.archive is None:
        return _uploaded(at.manifest, name)
    entry = at.archive.entry(name)
    if entry is None:
        return "", None, objection("file", Reason.MANIFEST_FILE_MISSING, name=name[:80], where="in the ZIP")
    twin = at.manifest.rows.filter(entry=entry, file__isnull=False).select_related("file").first()
    if twin is not None:
        return entry, twin.file, None
    written = storage.write(chunks=at.archive.chunks(entry), limit=settings.UPLOAD_LIMIT)
    stored = storage.record(written=written, organisation_id=at.manifest.ordering_organisation_id, kind="upload", name=name)
    return entry, stored, None


def _uploaded(manifest: Manifest, name: str) -> tuple[str, StoredFile | None, Objection | None]:
    files = StoredFile.objects.filter(organisation_id=manifest.ordering_organisation_id, kind="upload")
    by_digest = _DIGEST.match(name.lower())
    found = list(files.filter(sha256=name.lower())[:2] if by_digest else files.filter(name=name)[:2])
    if len(found) == 1:
        return "", found[0], None
    if found:
        return "", None, objection("file", Reason.MANIFEST_FILE_SEVERAL, name=name[:80])
    return "", None, objection("file", Reason.MANIFEST_FILE_MISSING, name=name[:80], where="among your organisation's uploads")
