"""Make the demonstration laboratory, its people and its orders."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from config import demo, demo_region


class Command(BaseCommand):
    help = "Make the demonstration laboratory (only with DEMO=1). New people's passwords are printed this once."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("DEMO is not 1: this system is not a demonstration")
        passwords = demo.seed()
        demo_region.seed()
        if not passwords:
            self.stdout.write("Demo people are there already; new passwords: make manage CMD=demo_passwords")
            return
        self.stdout.write("Demo people (printed this once, stored nowhere; new ones: make manage CMD=demo_passwords):")
        for email, password in passwords.items():
            self.stdout.write(f"  {email:<44} {password}")
