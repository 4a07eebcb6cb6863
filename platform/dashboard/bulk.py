"""Bulk orders on pages: what was sent, the verdict on each row, and what can be done with it."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile

from accounts.models import Organisation
from accounts.roles import Verb
from dashboard.wording import counted
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused
from orders import selectors as orders
from orders.manifests import archive, services, table
from orders.manifests.columns import COLUMNS
from orders.manifests.selectors import FILTERS, RowsPage, recent, rows_page, verdict_lines
from orders.models import Manifest
from reports.spreadsheet import disarmed

STATES = {
    "pending": "not checked yet",
    "valid": "valid",
    "invalid": "not valid",
    "placed": "placed",
    "refused": "not placed",
    "before": "placed before",
}
COLUMNS_OF_VERDICT = ("row", "state", "column", "words", "code", "order")
CHOSEN_AT_MOST = 10_000  # pages


@dataclass(frozen=True)
class Heading:
    """Where a manifest stands, in a line, and how the line looks."""

    words: str
    look: str  # good, note, alarm


def start(actor: Actor) -> dict[str, Any]:
    """The page on which a manifest is sent. Raises `NotPermitted` for someone who places no orders."""
    organisations = orders.ordering_organisations(actor)
    if not organisations:
        raise NotPermitted("Your role does not include placing orders.", code="access.not-permitted")
    return {
        "organisations": organisations,
        "tests": orders.offered_tests(actor),
        "columns": COLUMNS,
        "manifests": recent(actor),
        "most_rows": table.MOST_ROWS,
        "most_entries": archive.MOST_ENTRIES,
    }


def send(actor: Actor, data: Mapping[str, str], upload: "UploadedFile[Any] | None") -> Manifest:
    """Take in the file a person has chosen. Raises `Refused` in words."""
    if upload is None:
        raise Refused("Choose a file: a table, or a ZIP with a table and its files.", code="manifest.no-file")
    organisation = _organisation(orders.ordering_organisations(actor), data.get("organisation", ""))
    return services.send(actor=actor, organisation_id=organisation.pk, chunks=upload.chunks(), filename=upload.name or "")


def show(actor: Actor, manifest: Manifest, query: Mapping[str, str]) -> dict[str, Any]:
    """The page of one manifest."""
    page = int(query["page"]) if query.get("page", "").isdecimal() and len(query["page"]) < len(str(CHOSEN_AT_MOST)) else 1
    found = rows_page(manifest, chosen=query.get("show", ""), page=page)
    may = actor.may(Verb.PLACE, manifest.ordering_organisation_id)
    return {
        "manifest": manifest,
        "found": found,
        "rows": [(row, STATES[row.state]) for row in found.rows],
        "chips": [(key, label, found.counts[key]) for key, (label, _) in FILTERS.items() if found.counts[key] or key == "all"],
        "heading": heading(manifest, found),
        "done": _done(manifest, found),
        "share": _done(manifest, found) / max(1, manifest.total),
        "may_place_all": may and manifest.state == "checked" and not found.counts["invalid"] and found.counts["valid"] > 0,
        "may_place_valid": may and manifest.state == "checked" and found.counts["invalid"] > 0 and found.counts["valid"] > 0,
        "may_go_on": may and manifest.state == "stopped" and found.counts["valid"] > 0,
        "may_stop": may and manifest.state in ("checking", "checked", "placing"),
        "asks_to_throw": query.get("ask") == "throw" and may and manifest.state in ("checking", "checked"),
    }


def deed(actor: Actor, manifest: Manifest, data: Mapping[str, str]) -> str:
    """Place all rows, the valid ones, or stop; the words that say it is done."""
    what = data.get("do", "")
    if what == "stop":
        services.stop(actor=actor, manifest=manifest)
        return "Stopped. What was placed before stays placed."
    if what not in ("all", "valid"):
        raise Refused("The page asked for nothing that can be done.", code="manifest.unknown-deed")
    version = data.get("version", "")
    seen = int(version) if version.isdecimal() and len(version) < 10 else 0
    services.place(actor=actor, manifest=manifest, valid_only=what == "valid", expected_version=seen)
    return "The rows are being placed, STAT first."


def heading(manifest: Manifest, found: RowsPage) -> Heading:
    """What happened and what comes next."""
    valid, invalid = found.counts["valid"], found.counts["invalid"]
    placed, before = found.counts["placed"], found.counts["before"]
    words = {
        "checking": (
            f"Checking: {_done(manifest, found):,} of {counted(manifest.total, 'row')} settled."
            if manifest.total
            else "Waiting to be read.",
            "note",
        ),
        "refused": ("This file is refused. Nothing was ordered. Correct it and send it again.", "alarm"),
        "withdrawn": ("Thrown away: nothing was ordered from it.", "note"),
        "placing": (f"Placing: {placed:,} placed, {valid:,} to go.", "note"),
        "stopped": (f"Stopped: {placed:,} placed, {valid:,} not.", "note"),
        "placed": (
            f"{counted(placed, 'order')} placed{f', {invalid:,} not' if invalid else ''}.",
            "good" if not invalid else "note",
        ),
    }
    if manifest.state in words:
        return Heading(*words[manifest.state])
    again = f" {counted(before, 'row')} {'was' if before == 1 else 'were'} placed before." if before else ""
    if invalid:
        return Heading(f"{invalid:,} of {counted(manifest.total, 'row')} cannot be placed as they are.{again}", "alarm")
    return Heading(f"{counted(valid, 'row')} can be placed. Nothing is ordered yet.{again}", "good")


def verdict_csv(manifest: Manifest) -> str:
    """Every objection with row and column, safe to open in a spreadsheet program."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS_OF_VERDICT)
    writer.writerows([number, *map(disarmed, rest)] for number, *rest in verdict_lines(manifest))
    return out.getvalue()


def _done(manifest: Manifest, found: RowsPage) -> int:
    waiting = found.counts["pending"] if manifest.state == "checking" else found.counts["valid"]
    return manifest.total - waiting


def _organisation(organisations: list[Organisation], chosen: str) -> Organisation:
    by_key: dict[str | UUID, Organisation] = {str(organisation.pk): organisation for organisation in organisations}
    if len(organisations) == 1:
        return organisations[0]
    if chosen not in by_key:
        raise Refused("Choose the organisation that orders.", code="manifest.no-organisation")
    return by_key[chosen]
