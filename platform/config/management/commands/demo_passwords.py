"""New passwords for the demo people, or their end."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from accounts.models import User
from config import demo
from config.checks import DEMO_DOMAIN


class Command(BaseCommand):
    help = "Print new passwords for the demo people (DEMO=1), or deactivate them all (--deactivate, anywhere)."
    requires_system_checks: list[str] = []  # it is the cure for one of them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--deactivate", action="store_true", help="no demo person can log in any more")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["deactivate"]:
            gone = User.objects.filter(email__endswith=f"@{DEMO_DOMAIN}", is_active=True).update(is_active=False)
            self.stdout.write(f"{gone} demo people deactivated")
            return
        if not settings.DEMO:
            raise CommandError("DEMO is not 1: this system is not a demonstration")
        for email, password in demo.new_passwords().items():
            self.stdout.write(f"  {email:<44} {password}")
