"""Check a manifest: a platform job that settles some rows after the others, and can be killed at any moment."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DataError

from accounts.services import actor_for
from audit import services as audit
from foundation import clock
from foundation.actor import Actor, process
from foundation.file_reasons import FileReason
from foundation.reasons import Reason
from orders import checking as intake_checking
from orders import uploads, validation
from orders.checking_together import Examined, Small, examine, keep
from orders.errors import InvalidOrder
from orders.machines import MANIFEST
from orders.manifests import archive, cells, claims, table
from orders.manifests.archive import Archive
from orders.manifests.columns import column_of
from orders.manifests.errors import ManifestRefused, Objection, objection
from orders.manifests.finding import Desk, Directory, Found, find_file, find_performing, find_provider, find_site, find_test, unpack
from orders.models import Intake, Manifest, ManifestRow
from orders.parties import parties
from orders.requests import OrderRequest, as_said
from registry.models import TestVersion
from registry.priority import PRIORITY_RANK, Priority
from storage.services import path_of

ACTOR = process("manifest check")
MOST_TRIES = 3  # deaths at one row; then the row is at fault
NAMED_AT_MOST = 20
SETTLED = ("state", "objections", "content_hash", "settled_at", "file", "entry", "intake", "order")
TOGETHER = 50  # rows settled in one transaction …
TOGETHER_BYTES = 1_000_000  # … of files that unpack to so much, or one row


@dataclass
class Opened:
    """A manifest at work: its archive, if it is one, and what its sender may order and name."""

    manifest: Manifest
    desk: Desk
    directory: Directory
    archive: Archive | None
    waits: bool = False  # for large files, which other workers check
    singly: bool = False  # the database refused something of several rows: each is settled alone
    actor: Actor = field(init=False)

    def __post_init__(self) -> None:
        self.actor = actor_for(self.manifest.created_by)

    @cached_property
    def numbered(self) -> dict[tuple[str, str], int]:
        """By system and placer number, the row that is placed first under it."""
        rows = self.manifest.rows.order_by("-rank", "-number")
        found = rows.values_list("cells__placer_system", "cells__placer_number", "number")
        return {(system or "", number): row for system, number, row in found if number}

    def close(self) -> None:
        """Give the archive back."""
        if self.archive:
            self.archive.close()


@dataclass
class Case:
    """A row whose verdict is being found."""

    row: ManifestRow
    read: cells.Read
    test: TestVersion | None
    said: list[Objection]
    digest: str = ""
    known: ManifestRow | None = None  # the same row of an earlier manifest, placed

    @property
    def small(self) -> Small | None:
        """Its file, where that is checked together with those of other rows."""
        row = self.row
        if row.file is None or self.test is None or row.intake is not None or row.file.size > settings.INTAKE_LARGE:
            return None
        return Small(self.test, row.file, row.cells["file"][:255], row.cells["sample"])


def begin(manifest: Manifest) -> Opened | None:
    """Open it, and write its rows down the first time; None where it was refused as a whole."""
    path, opened = path_of(manifest.file.sha256), None
    try:
        with path.open("rb") as stream:
            opened = archive.open_archive(path) if archive.is_archive(stream.read(4)) else None
        if not manifest.total:
            data = opened.table(table.MOST_BYTES) if opened else _bytes(manifest)
            _write_rows(manifest, table.read(data))
    except ManifestRefused as error:
        if opened:
            opened.close()
        _refuse(manifest, error)
        return None
    return Opened(manifest, Desk.of(manifest), Directory.of(manifest), opened)


def check_next(at: Opened) -> bool:
    """Settle the next rows; False when none is left and the verdict is complete, or those that are left wait for large files."""
    manifest = at.manifest
    pending = manifest.rows.filter(state="pending").select_related("intake__test_version__reference", "file")
    free = pending.exclude(intake__state__in=("waiting", "checking")).order_by("rank", "number")
    rows = list(free[: 1 if at.singly or manifest.tries > 1 else TOGETHER])  # who died is found out one by one
    if not rows:
        at.waits = pending.exists()
        if not at.waits:
            _finish(at)
        return False
    if manifest.tries > MOST_TRIES:
        _put_aside(manifest, rows[0])
        return True
    cases = _cases(at, rows)
    _recognise(at, cases)
    try:
        _check(at, cases)
    except DataError:
        if at.singly:
            raise
        at.singly = True
    return True


def request_of(row: ManifestRow, directory: Directory, manifest: Manifest, laboratory_id: UUID | None) -> cells.Read:
    """What a row asks for of a laboratory, its intake included; None: it names none."""
    site, about_site = find_site(directory, row.cells["site"])
    provider_id, about_provider = find_provider(directory, row.cells["provider"])
    zone = site.zone if site else manifest.time_zone
    read = cells.read(row.cells, organisation_id=manifest.ordering_organisation_id, zone=zone)
    performing_id, about_performing = find_performing(directory, row.cells.get("performing_site", ""), laboratory_id)
    faults = [fault for fault in (about_site, about_provider, about_performing) if fault]
    read.objections += faults
    read.unread |= {fault.column for fault in faults}
    named: dict[str, Any] = {"site_id": site.pk if site else None, "provider_id": provider_id, "performing_site_id": performing_id}
    read.request = replace(read.request, **named)
    return _with_intake(read, row)


def _with_intake(read: cells.Read, row: ManifestRow) -> cells.Read:
    if row.intake is None:
        return read
    confirmed = row.cells["sample"] if len(row.intake.samples) > 1 else ""
    return replace(read, request=replace(read.request, intake_id=row.intake.pk, sample_confirmed=confirmed))


def _cases(at: Opened, rows: list[ManifestRow]) -> list[Case]:
    """The rows as read, with their files unpacked: as many of them as may be settled together."""
    found: list[tuple[ManifestRow, Found]] = []
    for row in rows:
        file = find_file(at, row)
        if found and sum(each.size for _, each in found) + file.size > TOGETHER_BYTES:
            break
        found.append((row, file))
    unpack(at, [file for _, file in found])
    made = []
    for row, file in found:
        row.entry, row.file = file.entry, file.file
        test, fault = find_test(at.desk, row.cells)
        read = request_of(row, at.directory, at.manifest, test.definition.laboratory_id if test else None)
        said = [*(Objection(**each) for each in row.objections), *read.objections]
        made.append(Case(row, read, test, [*said, *(each for each in (fault, file.fault) if each)]))
    return made


def _recognise(at: Opened, cases: list[Case]) -> None:
    """Whether a row is the same as another one, of an earlier manifest or of this one, or has its number."""
    manifest = at.manifest
    for case in cases:
        if case.row.file and case.test and not case.read.unread:
            case.digest = content_hash(case.read.request, case.row, str(case.test.definition_id))
    digests = {case.digest for case in cases} - {""}
    before = placed_before(manifest, digests)
    settled = manifest.rows.filter(content_hash__in=digests).values_list("content_hash", "number")
    first: dict[str, int] = {}
    for digest, number in settled.order_by("-number"):
        first[digest] = number
    for case in cases:
        if not case.digest:
            continue
        case.known = before.get(case.digest)
        if case.known is None and case.digest in first:
            case.said.append(objection("", Reason.MANIFEST_ROW_TWICE, row=first[case.digest]))
        elif case.known is None and (other := _same_number(at, case.row)):
            case.said.append(objection("placer_number", Reason.MANIFEST_NUMBER_TWICE, row=other))
        first[case.digest] = min(case.row.number, first.get(case.digest, case.row.number))


def _same_number(at: Opened, row: ManifestRow) -> int | None:
    """The row that takes the placer number of this one. STAT is parked when it is placed, as from every door, and not lost."""
    first = at.numbered.get((row.cells["placer_system"], row.cells["placer_number"]), row.number)
    return first if first != row.number and row.rank != PRIORITY_RANK[Priority.STAT] else None


def _check(at: Opened, cases: list[Case]) -> None:
    """Check the files, the small ones together, and settle every row whose file is through."""
    fresh = [case for case in cases if case.known is None]
    smalls = {id(case): None if at.singly else case.small for case in fresh}
    found = dict(zip(smalls, _examined(list(smalls.values())), strict=True))
    alone = [case for case in fresh if case.row.file and case.test and found[id(case)] is None]
    waiting = {id(case) for case in alone if not _intake_settled(at, case)}
    examined = [(case, one) for case in fresh if (one := found[id(case)])]
    with claims.ours(at.manifest, settles=True):
        organisation_id = at.manifest.ordering_organisation_id
        intakes = keep(actor=at.actor, organisation_id=organisation_id, examined=[one for _, one in examined])
        for (case, _), intake in zip(examined, intakes, strict=True):
            case.row.intake = intake
        settled = [case for case in cases if id(case) not in waiting]
        for case in settled:
            if case.known is None:
                case.said += _validated(at, case)
        _write(settled)


def _examined(smalls: Sequence[Small | None]) -> list[Examined | None]:
    """What was found in each file that is checked together with others."""
    found = iter(examine([small for small in smalls if small]))
    return [next(found) if small else None for small in smalls]


def _intake_settled(at: Opened, case: Case) -> bool:
    """Check the row's file as the form's files are; False while it is not through."""
    manifest, row, file, test = at.manifest, case.row, case.row.file, case.test
    if file is None or test is None:
        return True
    if row.intake is None:
        with claims.ours(manifest):
            row.intake = uploads.of_stored_file(
                actor=at.actor,
                test_version=test,
                ordering_organisation_id=manifest.ordering_organisation_id,
                stored=file,
                filename=row.cells["file"],
                sample=row.cells["sample"],
            )
            row.save(update_fields=["intake", "file", "entry"])
            if file.size > settings.INTAKE_LARGE:
                uploads.ask_for_check(row.intake)
        if file.size <= settings.INTAKE_LARGE:
            intake_checking.check_intake(row.intake.pk)
    row.intake = Intake.objects.select_related("test_version__reference", "file").get(pk=row.intake.pk)
    return row.intake.state in ("ready", "refused", "withdrawn")


def _validated(at: Opened, case: Case) -> list[Objection]:
    """What the intake check and `orders.validation` object to, each at its column."""
    row, intake, said = case.row, case.row.intake, []
    for problem in intake.problems if intake else ():
        if problem.get("fatal"):
            column = "sample" if problem["code"] in (FileReason.VCF_SAMPLE_CHOICE, FileReason.VCF_UNKNOWN_SAMPLE) else "file"
            line = f"Line {problem['line']:,}: " if problem.get("line") else ""
            said.append(Objection(column, line + problem["reason"], problem["code"]))
    read = _with_intake(case.read, row)
    try:
        who = parties(read.request, intake) if intake else None
        validation.validate(read.request, actor=at.actor, intake=intake, who=who)
    except InvalidOrder as error:
        for name, messages in error.fields.items():
            if name in read.unread or (name == "intake" and (said or case.test is None or row.file is None)):
                continue
            said += [Objection(column_of(name), message, str(Reason.MANIFEST_VALUE)) for message in messages]
    return said


def content_hash(request: OrderRequest, row: ManifestRow, definition: str) -> str:
    """SHA-256 of all that a row says: the same hash is the same row, in whatever manifest it comes."""
    file = row.file.sha256 if row.file else ""
    said = {
        **as_said(request),
        "intake_id": None,
        "sample_confirmed": None,
        "sample": row.cells["sample"],
        "file": file,
        "test": definition,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=_plain).encode()).hexdigest()


def placed_before(manifest: Manifest, digests: Iterable[str]) -> dict[str, ManifestRow]:
    """By content, the rows of earlier manifests of the same organisation that said the same and were placed."""
    mine = ManifestRow.objects.filter(organisation_id=manifest.ordering_organisation_id, state="placed")
    return {row.content_hash: row for row in mine.filter(content_hash__in=list(digests)).select_related("order")}


def tell_before(row: ManifestRow, known: ManifestRow) -> None:
    """The row is the order that stands already."""
    accession = known.order.accession if known.order else ""
    row.state, row.order, row.content_hash, row.settled_at = "before", known.order, known.content_hash, clock.now()
    row.objections = [objection("", Reason.MANIFEST_PLACED_BEFORE, accession=accession).as_json()]


def _put_aside(manifest: Manifest, row: ManifestRow) -> None:
    manifest.tries = 0
    row.state, row.objections, row.settled_at = "invalid", [objection("", Reason.INTAKE_CHECK_FAILED).as_json()], clock.now()
    with claims.ours(manifest, settles=True):
        row.save(update_fields=["state", "objections", "settled_at"])


def _write(cases: list[Case]) -> None:
    """Keep the verdicts; inside a transaction of `claims.ours`."""
    for case in cases:
        row, unique = case.row, {(each.column, each.words): each for each in case.said}
        if case.known is not None:
            tell_before(row, case.known)
            continue
        row.state, row.objections = "invalid" if case.said else "valid", [each.as_json() for each in unique.values()]
        row.content_hash, row.settled_at = case.digest, clock.now()
    ManifestRow.objects.bulk_update([case.row for case in cases], SETTLED)


def _finish(at: Opened) -> None:
    manifest = at.manifest
    problems = list(manifest.problems)
    if at.archive is not None:
        named = set(manifest.rows.exclude(entry="").values_list("entry", flat=True))
        left = at.archive.unnamed(named)
        if left:
            more = f" and {len(left) - NAMED_AT_MOST} more" if len(left) > NAMED_AT_MOST else ""
            names = ", ".join(map(archive.shown, left[:NAMED_AT_MOST])) + more
            problems.append(
                {"code": str(Reason.MANIFEST_UNNAMED), "words": Reason.MANIFEST_UNNAMED.say(names=names), "fatal": False}
            )
    with claims.ours(manifest):
        audit.transition(MANIFEST, manifest, to="checked", actor=ACTOR, problems=problems, claim=None)


def _bytes(manifest: Manifest) -> bytes:
    if manifest.file.size > table.MOST_BYTES:
        raise ManifestRefused(Reason.MANIFEST_TOO_LARGE, limit=f"{table.MOST_BYTES >> 20} MiB")
    return path_of(manifest.file.sha256).read_bytes()


def _write_rows(manifest: Manifest, rows: list[table.Row]) -> None:
    made = [
        ManifestRow(
            organisation_id=manifest.ordering_organisation_id,
            manifest=manifest,
            number=row.number,
            cells=row.cells,
            rank=cells.rank_of(row.cells),
            objections=[each.as_json() for each in row.objections],
        )
        for row in rows
    ]
    with claims.ours(manifest):
        ManifestRow.objects.bulk_create(made, batch_size=500)
        Manifest.objects.filter(pk=manifest.pk).update(total=len(made))
    manifest.total = len(made)


def _refuse(manifest: Manifest, error: ManifestRefused) -> None:
    said = [{"code": error.code, "words": str(error), "fatal": True}]
    with claims.ours(manifest):
        audit.transition(
            MANIFEST, manifest, to="refused", actor=ACTOR, reason=error.code, problems=said, ended_at=clock.now(), claim=None
        )


def _plain(value: object) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
