"""An account for a program that places and follows orders by token; a person answers for it."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import programs
from accounts.models import Organisation, User
from foundation.actor import process
from foundation.errors import Refused


class Command(BaseCommand):
    help = "Make an account for a program. It has no password and never logs in; `api_token create` gives it a token."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email", required=True, help="what the account is called, such as lis@central-lab.example")
        parser.add_argument("--name", required=True, help="as events and reports name it")
        parser.add_argument("--organisation", required=True, help="its short code, such as central-lab")
        parser.add_argument("--responsible", required=True, metavar="EMAIL", help="the person who answers for it")

    def handle(self, *args: Any, **options: Any) -> None:
        organisation = Organisation.objects.filter(code=options["organisation"]).first()
        person = User.objects.filter(email__iexact=options["responsible"].strip()).first()
        if organisation is None or person is None:
            missing = options["organisation"] if organisation is None else options["responsible"]
            raise CommandError(f"there is no {missing}", returncode=2)
        try:
            account = programs.make(
                actor=process("manage.py create_service_account"),
                email=options["email"],
                name=options["name"],
                organisation=organisation,
                responsible=person,
            )
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"{account.email} is a service account of {organisation.name}; {person.name} answers for it")
