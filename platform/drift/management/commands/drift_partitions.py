"""Keep the partitions of drift's rows, as the owner of the tables."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import OperationalError, connections

from drift import partitions
from foundation import clock


class Command(BaseCommand):
    help = (
        "Make the partitions of the next 14 days, move rows into them that came without one, drop those past DRIFT_DAYS. "
        "As helicase_owner (needs DATABASE_OWNER_URL); beside running processes, as often as you like."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if "owner" not in settings.DATABASES:
            raise CommandError("DATABASE_OWNER_URL is not set: the application's own role may not change tables")
        try:
            done = partitions.keep(connections["owner"], clock.now(), days=settings.DRIFT_DAYS)
        except OperationalError as error:
            raise CommandError(f"the table was too busy, try again: {str(error).splitlines()[0]}") from error
        if options["verbosity"]:
            self.stdout.write(f"partitions made: {done.made}, rows moved into them: {done.moved}, dropped: {done.dropped}")
