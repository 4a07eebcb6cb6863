"""API tokens from the command line: what the page “API tokens” does, for service accounts and for those who set them up."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named, tokens
from accounts.models import ApiToken, Organisation, User
from accounts.roles import FOR_PROGRAMS
from foundation import clock
from foundation.errors import HelicaseError


class Command(BaseCommand):
    help = "Create, list or revoke API tokens. A new one is printed this once and kept nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        deeds = parser.add_subparsers(dest="deed", required=True)
        create = deeds.add_parser("create", help="make a token")
        create.add_argument("--account", required=True, metavar="EMAIL", help="whose token it is")
        create.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides")
        create.add_argument("--name", required=True, help="what it is for")
        scopes = sorted(FOR_PROGRAMS)
        create.add_argument("--scope", action="append", required=True, choices=scopes, help="may be given several times")
        create.add_argument("--organisation", default="", help="short code; without it, wherever the account has a role")
        create.add_argument("--days", type=int, default=tokens.DAYS, help=f"of life, at most {tokens.MOST_DAYS}")
        shown = deeds.add_parser("list", help="the tokens of an account")
        shown.add_argument("--account", required=True, metavar="EMAIL")
        ended = deeds.add_parser("revoke", help="end a token, at once")
        ended.add_argument("prefix", help="the ten letters behind hct_")
        ended.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides")

    def handle(self, *args: Any, **options: Any) -> None:
        deeds = {"create": self._create, "list": self._list, "revoke": self._revoke}
        try:
            deeds[options["deed"]](options)
        except tokens.InvalidToken as error:
            raise CommandError(" ".join(said for field in error.fields.values() for said in field), returncode=2) from error
        except HelicaseError as error:
            raise CommandError(str(error), returncode=2) from error

    def _create(self, options: dict[str, Any]) -> None:
        organisation = Organisation.objects.filter(code=options["organisation"]).first()
        if options["organisation"] and organisation is None:
            raise CommandError(f"there is no organisation {options['organisation']}", returncode=2)
        token, text = tokens.create(
            actor=named.person(options["by"]),
            owner=_account(options["account"]),
            name=options["name"],
            scopes=options["scope"],
            organisation=organisation,
            days=options["days"],
        )
        self.stdout.write(f"{text}\nends {token.expires_at:%Y-%m-%d %H:%M} UTC; it is printed this once")

    def _list(self, options: dict[str, Any]) -> None:
        now = clock.now()
        for token in ApiToken.objects.filter(owner=_account(options["account"])).order_by("-created_at"):
            used = f"used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
            ends = token.ended(now) or f"ends {token.expires_at:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(f"{token.prefix}  {ends}  {used}  {' '.join(token.scopes)}  {token.name}")

    def _revoke(self, options: dict[str, Any]) -> None:
        token = ApiToken.objects.select_related("owner").filter(prefix=options["prefix"]).first()
        if token is None:
            raise CommandError(f"there is no token {options['prefix']}", returncode=2)
        tokens.revoke(actor=named.person(options["by"]), token=token)
        self.stdout.write(f"{token.prefix} is revoked")


def _account(email: str) -> User:
    found = User.objects.filter(email__iexact=email.strip()).first()
    if found is None:
        raise CommandError(f"there is no account {email.strip()[:80]}", returncode=2)
    return found
