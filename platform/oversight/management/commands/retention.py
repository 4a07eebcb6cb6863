"""What the nightly deletion does, from the command line."""

from typing import Any

from django.core.management import BaseCommand, CommandParser

from oversight import retention
from oversight.record_classes import BLOCKS


class Command(BaseCommand):
    help = "Delete records whose retention is over and that nothing blocks; with --dry-run, say which they are."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="delete nothing; list what is due, and what blocks it")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["dry_run"]:
            for code, number in retention.run().items():
                self.stdout.write(f"{code}: {number} deleted")
            return
        for one in retention.candidates(None):
            why = "; ".join(BLOCKS[code] for code in one.blocks) or "would be deleted"
            self.stdout.write(f"{one.record_class.code}  {one.id}  since {one.since:%Y-%m-%d}, due {one.due:%Y-%m-%d}: {why}")
