"""Bring the database to this version of the code, as its owner, register the bundled model, sweep what was left unfinished."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command

from config import starting
from config.bundled import bundled_deployment
from registry import admission
from registry.errors import RegistrationRefused


class Command(BaseCommand):
    help = "Migrate as helicase_owner (needs DATABASE_OWNER_URL). One shot: run it before the other processes start."

    def handle(self, *args: Any, **options: Any) -> None:
        if "owner" not in settings.DATABASES:
            raise CommandError("DATABASE_OWNER_URL is not set: the application's own role may not change tables")
        call_command("migrate", database="owner", interactive=False, verbosity=int(options["verbosity"]))
        call_command("drift_partitions", verbosity=int(options["verbosity"]))
        starting.require()  # here, so that one line stands before everything that would not start
        try:
            bundled_deployment()
        except RegistrationRefused as error:
            raise CommandError(str(error), returncode=2) from error
        admission.sweep()
