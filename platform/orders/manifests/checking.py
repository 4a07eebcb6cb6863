"""Check a manifest: a platform job that settles one row after the other, and can be killed between any two."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from django.conf import settings

from accounts.services import actor_for
from audit import services as audit
from foundation import clock
from foundation.actor import Actor, process
from foundation.reasons import Reason
from orders import checking as intake_checking
from orders import uploads, validation
from orders.errors import InvalidOrder
from orders.machines import MANIFEST
from orders.manifests import archive, cells, claims, table
from orders.manifests.archive import Archive
from orders.manifests.columns import column_of
from orders.manifests.errors import ManifestRefused, Objection, objection
from orders.manifests.finding import Desk, find_file, find_provider, find_site, find_test
from orders.models import Intake, Manifest, ManifestRow
from orders.requests import OrderRequest, as_said
from registry.models import TestVersion
from storage.models import StoredFile
from storage.services import NoSpace, TooLarge, path_of

ACTOR = process("manifest check")
MOST_TRIES = 3  # deaths at one row; then the row is at fault
NAMED_AT_MOST = 20


@dataclass
class Opened:
    """A manifest at work: its archive, if it is one, and what its sender may order."""

    manifest: Manifest
    desk: Desk
    archive: Archive | None
    waits: bool = False  # for large files, which other workers check
    actor: Actor = field(init=False)

    def __post_init__(self) -> None:
        self.actor = actor_for(self.manifest.created_by)


def begin(manifest: Manifest) -> Opened | None:
    """Open it, and write its rows down the first time; None where it was refused as a whole."""
    path = path_of(manifest.file.sha256)
    try:
        with path.open("rb") as stream:
            opened = archive.open_archive(path) if archive.is_archive(stream.read(4)) else None
        if not manifest.total:
            data = opened.table(table.MOST_BYTES) if opened else _bytes(manifest)
            _write_rows(manifest, table.read(data))
    except ManifestRefused as error:
        _refuse(manifest, error)
        return None
    return Opened(manifest, Desk.of(manifest), opened)


def check_next(at: Opened) -> bool:
    """Settle the next row; False when none is left and the verdict is complete, or those that are left wait for large files."""
    manifest = at.manifest
    pending = manifest.rows.filter(state="pending").select_related("intake__test_version__reference", "file")
    row = pending.exclude(intake__state__in=("waiting", "checking")).order_by("rank", "number").first()
    if row is None:
        at.waits = pending.exists()
        if not at.waits:
            _finish(at)
        return False
    if manifest.tries > MOST_TRIES:
        manifest.tries = 0
        _settle(manifest, row, "", [objection("", Reason.INTAKE_CHECK_FAILED)])
    else:
        _check(at, row)
    return True


def request_of(row: ManifestRow, manifest: Manifest) -> cells.Read:
    """What a row asks for, its intake included."""
    site, about_site = find_site(manifest, row.cells["site"])
    provider_id, about_provider = find_provider(manifest, row.cells["provider"])
    zone = site.zone if site else manifest.time_zone
    read = cells.read(row.cells, organisation_id=manifest.ordering_organisation_id, zone=zone)
    read.objections += [fault for fault in (about_site, about_provider) if fault]
    read.unread |= {fault.column for fault in (about_site, about_provider) if fault}
    read.request = replace(read.request, site_id=site.pk if site else None, provider_id=provider_id)
    if row.intake is None:
        return read
    confirmed = row.cells["sample"] if len(row.intake.samples) > 1 else ""
    return replace(read, request=replace(read.request, intake_id=row.intake.pk, sample_confirmed=confirmed))


def _check(at: Opened, row: ManifestRow) -> None:
    said = [Objection(**each) for each in row.objections]
    read = request_of(row, at.manifest)
    said += read.objections
    test, fault = find_test(at.desk, row.cells)
    said += [fault] if fault else []
    if row.file is None:
        try:
            row.entry, row.file, fault = find_file(at, row)
        except ManifestRefused as error:
            fault = Objection("file", str(error), error.code)
        except (TooLarge, NoSpace) as error:
            fault = Objection("file", str(error), error.code)
        said += [fault] if fault else []
    digest = ""
    if row.file and test and not read.unread:
        digest = content_hash(read.request, row, str(test.definition_id))
        if _told_before(at.manifest, row, digest):
            return
        twin = at.manifest.rows.filter(content_hash=digest).exclude(pk=row.pk).order_by("number").first()
        said += [objection("", Reason.MANIFEST_ROW_TWICE, row=twin.number)] if twin else []
    if row.file and test and not _intake_settled(at, row, row.file, test):
        return
    said += _validated(at, row, read, test is not None)
    _settle(at.manifest, row, digest, said)


def _intake_settled(at: Opened, row: ManifestRow, file: StoredFile, test: TestVersion) -> bool:
    """Check the row's file as the form's files are; False while it is not through."""
    manifest = at.manifest
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


def _validated(at: Opened, row: ManifestRow, read: cells.Read, has_test: bool) -> list[Objection]:
    """What the intake check and `orders.validation` object to, each at its column."""
    intake, said = row.intake, []
    if intake is not None:
        for problem in intake.problems:
            if problem.get("fatal"):
                column = "sample" if problem["code"] in (Reason.VCF_SAMPLE_CHOICE, Reason.VCF_UNKNOWN_SAMPLE) else "file"
                line = f"Line {problem['line']:,}: " if problem.get("line") else ""
                said.append(Objection(column, line + problem["reason"], problem["code"]))
    read = request_of(row, at.manifest)
    try:
        validation.validate(read.request, actor=at.actor, intake=intake)
    except InvalidOrder as error:
        for name, messages in error.fields.items():
            if name in read.unread or (name == "intake" and (said or not has_test or row.file is None)):
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


def placed_before(manifest: Manifest, digest: str) -> ManifestRow | None:
    """The row of an earlier manifest of the same organisation that said the same and was placed."""
    placed = ManifestRow.objects.filter(organisation_id=manifest.ordering_organisation_id, content_hash=digest, state="placed")
    return placed.select_related("order").first()


def tell_before(row: ManifestRow, known: ManifestRow) -> None:
    """The row is the order that stands already; inside a transaction of `claims.ours`."""
    accession = known.order.accession if known.order else ""
    row.state, row.order, row.content_hash, row.settled_at = "before", known.order, known.content_hash, clock.now()
    row.objections = [objection("", Reason.MANIFEST_PLACED_BEFORE, accession=accession).as_json()]
    row.save(update_fields=["state", "order", "content_hash", "settled_at", "objections", "file", "entry"])


def _told_before(manifest: Manifest, row: ManifestRow, digest: str) -> bool:
    known = placed_before(manifest, digest)
    if known is None:
        return False
    with claims.ours(manifest, settles=True):
        tell_before(row, known)
    return True


def _settle(manifest: Manifest, row: ManifestRow, digest: str, said: list[Objection]) -> None:
    unique = {(each.column, each.words): each for each in said}
    row.state, row.objections = "invalid" if said else "valid", [each.as_json() for each in unique.values()]
    row.content_hash, row.settled_at = digest, clock.now()
    with claims.ours(manifest, settles=True):
        row.save(update_fields=["state", "objections", "content_hash", "settled_at", "file", "entry", "intake"])


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
