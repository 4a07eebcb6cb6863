"""What a row names and does not hold: the test with its laboratory, who asks and where, and the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings

from accounts.models import Provider, Site
from accounts.services import actor_for
from foundation.reasons import Reason
from orders import selectors
from orders.manifests.archive import Archive
from orders.manifests.errors import ManifestRefused, Objection, objection
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


@dataclass(frozen=True)
class Directory:
    """Open providers and sites of the ordering organisation, as they were when some rows were taken up; `place` looks again."""

    providers: list[Provider]
    sites: list[Site]

    @classmethod
    def of(cls, manifest: Manifest) -> Directory:
        mine = {"organisation_id": manifest.ordering_organisation_id, "active": True}
        return cls(list(Provider.objects.filter(**mine)), list(Site.objects.filter(**mine)))

    @cached_property
    def performing(self) -> list[Site]:
        """Open sites of laboratories, read where a row names one."""
        return list(Site.objects.filter(active=True, organisation__is_laboratory=True))


def find_performing(directory: Directory, code: str, laboratory_id: UUID | None) -> tuple[UUID | None, Objection | None]:
    """The open site of the laboratory that performs with this code."""
    if not code or laboratory_id is None:
        return None, None
    named = (one for one in directory.performing if one.organisation_id == laboratory_id and one.code.lower() == code.lower())
    found = next(named, None)
    return (found.pk, None) if found else (None, objection("performing_site", Reason.MANIFEST_PERFORMING_SITE, code=code[:40]))


def find_provider(directory: Directory, named: str) -> tuple[UUID | None, Objection | None]:
    """The open provider of the ordering organisation with this identifier, or else with this name."""
    if not named:
        return None, None
    identified = [one for one in directory.providers if one.identifier == named]
    found = identified or [one for one in directory.providers if one.name.lower() == named.lower()]
    if len(found) == 1:
        return found[0].pk, None
    return None, objection("provider", Reason.MANIFEST_PROVIDER, name=named[:80], found="several" if found else "no")


def find_site(directory: Directory, code: str) -> tuple[Site | None, Objection | None]:
    """The open site of the ordering organisation with this code."""
    if not code:
        return None, None
    found = next((one for one in directory.sites if one.code.lower() == code.lower()), None)
    return found, None if found else objection("site", Reason.MANIFEST_SITE, code=code[:40])


@dataclass
class Found:
    """The file of a row: an entry of the ZIP that is still to be unpacked, a stored file, or what is wrong with it."""

    name: str  # as the row has it
    entry: str = ""
    file: StoredFile | None = None
    size: int = 0  # bytes
    fault: Objection | None = None


def find_file(at: Opened, row: ManifestRow) -> Found:
    """What the row names as its file."""
    name = row.cells["file"]
    if row.file is not None:
        return Found(name, row.entry, row.file, row.file.size)
    if not name:
        return Found(name, fault=objection("file", Reason.MANIFEST_FILE_MISSING, name="(empty)", where="to be checked"))
    if at.archive is None:
        return _uploaded(at.manifest, name)
    entry = at.archive.entry(name)
    if entry is None:
        return Found(name, fault=objection("file", Reason.MANIFEST_FILE_MISSING, name=name[:80], where="in the ZIP"))
    return Found(name, entry, size=at.archive.size(entry))


def unpack(at: Opened, found: Iterable[Found]) -> None:
    """Store each entry that no row has brought yet; small ones together. What is wrong with one is kept as its fault."""
    packed = [one for one in found if one.entry and one.file is None]
    if at.archive is None or not packed:
        return
    before = at.manifest.rows.filter(entry__in={one.entry for one in packed}, file__isnull=False).select_related("file")
    stored: dict[str, StoredFile | Objection] = {row.entry: row.file for row in before if row.file}
    small = {one.entry: one for one in packed if one.size <= settings.INTAKE_LARGE and one.entry not in stored}
    stored |= _small(at.archive, list(small.values()), at.manifest)
    for one in packed:
        if one.entry not in stored:
            stored[one.entry] = _stored(at.archive, one, at.manifest)
        kept = stored[one.entry]
        if isinstance(kept, Objection):
            one.fault = kept
        else:
            one.file = kept


def _small(archive: Archive, found: list[Found], manifest: Manifest) -> dict[str, StoredFile | Objection]:
    """These entries in the store; nothing where one of them cannot be kept, which is found out one by one."""
    try:
        contents = [b"".join(archive.chunks(one.entry)) for one in found]
        written = storage.write_all(contents, limit=settings.UPLOAD_LIMIT)
    except (ManifestRefused, storage.TooLarge, storage.NoSpace):
        return {}
    named = {kept: one.name for kept, one in zip(reversed(written), reversed(found), strict=True)}  # equal ones have the first name
    files = storage.record_all(named=named, organisation_id=manifest.ordering_organisation_id, kind="upload")
    return {one.entry: files[kept.sha256] for one, kept in zip(found, written, strict=True)}


def _stored(archive: Archive, found: Found, manifest: Manifest) -> StoredFile | Objection:
    """One entry in the store, as it unpacks, or what is wrong with it."""
    try:
        written = storage.write(chunks=archive.chunks(found.entry), limit=settings.UPLOAD_LIMIT)
    except (ManifestRefused, storage.TooLarge, storage.NoSpace) as error:
        return Objection("file", str(error), error.code)
    return storage.record(written=written, organisation_id=manifest.ordering_organisation_id, kind="upload", name=found.name)


def _uploaded(manifest: Manifest, name: str) -> Found:
    files = StoredFile.objects.filter(organisation_id=manifest.ordering_organisation_id, kind="upload")
    by_digest = _DIGEST.match(name.lower())
    found = list(files.filter(sha256=name.lower())[:2] if by_digest else files.filter(name=name)[:2])
    if len(found) == 1:
        return Found(name, file=found[0], size=found[0].size)
    if found:
        return Found(name, fault=objection("file", Reason.MANIFEST_FILE_SEVERAL, name=name[:80]))
    where = "among your organisation's uploads"
    return Found(name, fault=objection("file", Reason.MANIFEST_FILE_MISSING, name=name[:80], where=where))
