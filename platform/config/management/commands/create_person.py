"""The first people of a system that is no demonstration; later ones are granted on a page."""

import secrets
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from accounts.models import Membership, Organisation, User, validate_zone
from accounts.roles import Role
from audit import services as audit
from foundation import clock
from foundation.actor import process


class Command(BaseCommand):
    help = "Make a person with one role, and his organisation where it is new. The password is printed this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email", required=True)
        parser.add_argument("--name", required=True, help="as printed on reports")
        people = [role for role in Role.values if role != Role.SERVICE]  # programs: create_service_account
        parser.add_argument("--role", required=True, choices=people)
        parser.add_argument("--organisation", required=True, help="its short code, such as central-lab")
        parser.add_argument("--organisation-name", default="", help="needed where the organisation is new")
        parser.add_argument("--laboratory", action="store_true", help="the new organisation is a laboratory")
        parser.add_argument("--time-zone", default="UTC", help="of the new organisation, such as Europe/Berlin")

    def handle(self, *args: Any, **options: Any) -> None:
        email, password = options["email"].strip().lower(), secrets.token_urlsafe(15)
        try:
            validate_email(email)
            validate_zone(options["time_zone"])
        except ValidationError as error:
            raise CommandError("; ".join(error.messages), returncode=2) from error
        with transaction.atomic():
            organisation = _organisation(options)
            user = User.objects.filter(email=email).first()
            made = user is None
            if user is None:
                user = User.objects.create_user(email=email, name=options["name"], password=password)
            membership, _ = Membership.objects.get_or_create(
                user=user, organisation=organisation, role=options["role"], ended_at=None, defaults={"granted_at": clock.now()}
            )
            actor = process("manage.py create_person")
            audit.record(actor=actor, action="membership.granted", obj=membership, organisation_id=organisation.pk)
        said = f"password: {password}" if made else "the password stays as it was"
        self.stdout.write(f"{email} is {options['role']} of {organisation.name}; {said}")


def _organisation(options: dict[str, Any]) -> Organisation:
    known = Organisation.objects.filter(code=options["organisation"]).first()
    if known is not None:
        return known
    if not options["organisation_name"]:
        raise CommandError(f"{options['organisation']} is new: give --organisation-name", returncode=2)
    return Organisation.objects.create(
        code=options["organisation"],
        name=options["organisation_name"],
        is_laboratory=options["laboratory"],
        time_zone=options["time_zone"],
    )
