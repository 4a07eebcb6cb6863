"""Add a site to an organisation, change it, close it or open it again, in the name of its administrator."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named, sites
from accounts.models import Organisation, Site
from accounts.sites import SiteDetails
from foundation.errors import HelicaseError


class Command(BaseCommand):
    help = "Add or change a site of an organisation. Without further options it lists the sites that there are."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organisation", help="its short code")
        parser.add_argument("code", nargs="?", default="", help="of the site, such as north; the first one is main")
        parser.add_argument(
            "--by", default="", metavar="EMAIL", help="the person who decides; an administrator of the organisation"
        )
        parser.add_argument("--name", help="as printed on reports")
        parser.add_argument("--address", help="as printed on reports, its lines parted by commas")
        parser.add_argument("--phone")
        parser.add_argument("--time-zone", help="such as Europe/Berlin")
        state = parser.add_mutually_exclusive_group()
        state.add_argument("--close", action="store_true", help="no new order names it")
        state.add_argument("--open", action="store_true", help="orders can name it again")

    def handle(self, *args: Any, **options: Any) -> None:
        organisation = Organisation.objects.filter(code=options["organisation"]).first()
        if organisation is None:
            known = ", ".join(Organisation.objects.order_by("code").values_list("code", flat=True)) or "there is none"
            raise CommandError(f"there is no organisation {options['organisation']} ({known})", returncode=2)
        if options["code"]:
            try:
                self._write(organisation, options)
            except HelicaseError as error:
                raise CommandError(str(error), returncode=2) from error
        for site in Site.objects.filter(organisation=organisation).order_by("created_at", "code"):
            where = ", ".join(site.address.splitlines()) or "no address"
            self.stdout.write(f"{site.code}: {site.name}, {where}, {site.time_zone}{'' if site.active else ', closed'}")

    def _write(self, organisation: Organisation, options: dict[str, Any]) -> None:
        actor = named.person(options["by"])
        found = Site.objects.filter(organisation=organisation, code=options["code"]).first()
        address = options["address"]
        given = {
            "name": options["name"], "phone": options["phone"], "time_zone": options["time_zone"],
            "address": "\n".join(address.split(",")) if address is not None else None,
        }  # fmt: skip
        usual = {name: getattr(found, name, "") for name in given} if found else {"time_zone": organisation.time_zone}
        details = SiteDetails(code=options["code"], **{name: said or usual.get(name, "") for name, said in given.items()})
        if found is None:
            found = sites.add_site(organisation=organisation, details=details, actor=actor)
        elif any(said is not None for said in given.values()):
            found = sites.change_site(site=found, details=details, actor=actor, expected_version=found.version)
        if options["close"] or options["open"]:
            sites.set_site_active(site=found, active=options["open"], actor=actor, expected_version=found.version)
