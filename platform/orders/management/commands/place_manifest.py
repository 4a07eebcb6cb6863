"""Check a manifest and place its rows, in the name of a person: what the page does, for whoever has no browser."""

import time
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from accounts.models import Organisation
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotPermitted
from orders import checking
from orders.manifests import services, working
from orders.manifests.selectors import verdict_lines
from orders.models import Manifest
from orders.selectors import ordering_organisations

CHUNK = 1 << 20


class Command(BaseCommand):
    help = "Check a table of orders, alone or in a ZIP with its files, and place them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="CSV or ZIP")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who orders")
        parser.add_argument("--organisation", default="", metavar="CODE", help="who orders, where the person works for several")
        parser.add_argument("--valid-only", action="store_true", help="place the valid rows although others are not")
        parser.add_argument("--dry-run", action="store_true", help="check and say the verdict; place nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actor = named.person(options["by"])
            manifest = self._checked(actor, options["file"], options["organisation"])
            if options["dry_run"]:
                services.stop(actor=actor, manifest=manifest)
                return
            services.place(actor=actor, manifest=manifest, valid_only=options["valid_only"], expected_version=manifest.version)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}", returncode=2) from error
        except HelicaseError as error:
            raise CommandError(str(error), returncode=2) from error
        manifest = _worked(manifest)
        for number, state, _, words, code, accession in verdict_lines(manifest):
            if state in ("placed", "before", "refused"):
                self.stdout.write(f"row {number}: {state} {accession or f'{words} [{code}]'}".rstrip())

    def _checked(self, actor: Actor, path: Path, code: str) -> Manifest:
        organisation = _organisation(actor, code)
        with path.open("rb") as stream:
            chunks = iter(lambda: stream.read(CHUNK), b"")
            manifest = services.send(actor=actor, organisation_id=organisation.pk, chunks=chunks, filename=path.name)
        manifest = _worked(manifest)
        for number, state, column, words, said, _ in verdict_lines(manifest):
            where = f", {column}" if column else ""
            self.stdout.write(f"row {number}{where}: {state}" + (f": {words} [{said}]" if words else ""))
        for problem in manifest.problems:
            self.stdout.write(f"{problem['words']} [{problem['code']}]")
        if manifest.state != "checked":
            raise CommandError(f"the manifest is {manifest.state}; nothing was ordered", returncode=2)
        return manifest


def _worked(manifest: Manifest) -> Manifest:
    """Work on it here; where a platform worker was first, until it is done."""

    manifest.refresh_from_db()
    while manifest.working:
        if not working.work(manifest.pk):
            for pk in manifest.rows.filter(state="pending", intake__state="waiting").values_list("intake", flat=True):
                checking.check_intake(pk)  # a large file, which would wait for a platform worker
            time.sleep(0.2)
        manifest.refresh_from_db()
    return manifest


def _organisation(actor: Actor, code: str) -> Organisation:
    found = [one for one in ordering_organisations(actor) if not code or one.code == code]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotPermitted("this person places no orders there", code="access.not-permitted")
    raise NotPermitted(f"name who orders with --organisation: {', '.join(one.code for one in found)}", code="access.not-permitted")
