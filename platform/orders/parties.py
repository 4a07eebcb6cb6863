"""Who asks for an order, from which site of the ordering organisation, and at which site of the laboratory it is performed."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from accounts.models import Provider, Site
from accounts.sites import open_sites
from orders.models import Intake
from orders.requests import OrderRequest

WHO = "Choose the ordering provider: whom the laboratory calls with a critical result."


@dataclass(frozen=True)
class Parties:
    """What the order will name, and by field what stands against it."""

    ordering_site: Site
    performing_site: Site
    provider: Provider | None
    objections: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Any]:
        """What the order keeps: name and contact verbatim."""
        return {
            "ordering_site": self.ordering_site,
            "performing_site": self.performing_site,
            "provider": self.provider,
            "provider_name": self.provider.name if self.provider else "",
            "provider_contact": self.provider.contact if self.provider else "",
        }


def parties(request: OrderRequest, intake: Intake) -> Parties:
    """Sites and provider of a request. An organisation with providers places no order without one of them."""
    organisation_id, laboratory_id = request.ordering_organisation_id, intake.performing_laboratory_id
    sites = open_sites([organisation_id, laboratory_id])
    site, about_site = _site(request.site_id, organisation_id, sites)
    performing, about_performing = _site(request.performing_site_id, laboratory_id, sites, "laboratory that performs")
    provider, about_provider = _provider(request.provider_id, organisation_id)
    said = {"site": about_site, "performing_site": about_performing, "provider": about_provider}
    return Parties(
        ordering_site=site,
        performing_site=performing,
        provider=provider,
        objections={name: message for name, message in said.items() if message},
    )


def objections(request: OrderRequest) -> dict[str, str]:
    """What stands against site and provider, by field, before there is a file."""
    organisation_id = request.ordering_organisation_id
    _, about_site = _site(request.site_id, organisation_id, open_sites([organisation_id]))
    said = {"site": about_site, "provider": _provider(request.provider_id, organisation_id)[1]}
    return {name: message for name, message in said.items() if message}


def _site(named: UUID | None, organisation_id: UUID, sites: list[Site], of: str = "ordering organisation") -> tuple[Site, str]:
    """The site that is named, or else the main one, which comes first; and what stands against it."""
    mine = [one for one in sites if one.organisation_id == organisation_id]
    found = next((one for one in mine if one.pk == named), None)
    return found or mine[0], f"This is no open site of the {of}." if named and found is None else ""


def _provider(named: UUID | None, organisation_id: UUID) -> tuple[Provider | None, str]:
    active = Provider.objects.filter(organisation_id=organisation_id, active=True)
    if named is None:
        return None, WHO if active.exists() else ""
    found: Provider | None = active.filter(pk=named).first()
    return found, "" if found else "This is no active provider of the ordering organisation."
