"""Sites of an organisation: add, change, close and open again. Address and zone stand on reports, so an administrator decides.

Each function is one transaction with one event. What an order has named stays named: a site is closed, never deleted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.details import Objections, line, lines
from accounts.errors import InvalidDetails, LastSite
from accounts.models import Organisation, Site, validate_zone
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import NOBODY, Actor
from foundation.errors import NotFound, Stale

_CODE = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class SiteDetails:
    """What a person states of a site."""

    code: str
    name: str
    address: str
    phone: str
    time_zone: str


def main_site(organisation_id: UUID) -> Site:
    """The oldest open site: the one an order belongs to where nobody has named another."""
    return Site.objects.filter(organisation_id=organisation_id, active=True).earliest("created_at", "code")


def sites_for(actor: Actor) -> list[Site]:
    """Open sites of the organisations this actor places orders for, the main one of each first."""
    rows = Site.objects.for_actor(actor, Verb.PLACE).filter(active=True).select_related("organisation")
    return list(rows.order_by("organisation__name", "created_at", "code"))


def open_sites(organisations: Iterable[UUID]) -> list[Site]:
    """Open sites of these organisations, the main one of each first: what an order can name of who performs it."""
    rows = Site.objects.filter(organisation_id__in=set(organisations), active=True).select_related("organisation")
    return list(rows.order_by("organisation__name", "created_at", "code"))


def several_sites(actor: Actor) -> list[Site]:
    """Sites, closed ones too, of the organisations whose orders this person sees and which have several."""
    rows = list(Site.objects.for_actor(actor, Verb.VIEW_ORDER).select_related("organisation"))
    number = Counter(one.organisation_id for one in rows)
    return sorted((one for one in rows if number[one.organisation_id] > 1), key=lambda one: (one.organisation.name, one.created_at))


def sites_to_edit(actor: Actor) -> list[Site]:
    """All sites of the organisations this actor administers, open ones first."""
    rows = Site.objects.for_actor(actor, Verb.GRANT).select_related("organisation")
    return list(rows.order_by("organisation__name", "-active", "created_at", "code"))


def site_to_edit(actor: Actor, pk: UUID) -> Site:
    """One of them. Raises `NotFound`: to a stranger it does not exist."""
    found: Site | None = Site.objects.for_actor(actor, Verb.GRANT).select_related("organisation").filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def add_site(*, organisation: Organisation, details: SiteDetails, actor: Actor) -> Site:
    """A new open site. Raises `NotPermitted` or `InvalidDetails`."""
    require(actor, Verb.GRANT, organisation.pk)
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        values = _checked(details, organisation.pk)
        made: Site = Site.objects.create(organisation=organisation, created_at=clock.now(), **values)
        audit.record(actor=actor, action="site.added", obj=made, organisation_id=organisation.pk, facts={"code": made.code})
        return made


def change_site(*, site: Site, details: SiteDetails, actor: Actor, expected_version: int) -> Site:
    """Other details of a site: orders placed from now on, and reports drafted from now on, carry them.

    Raises `NotPermitted`, `InvalidDetails` or `Stale`.
    """
    with transaction.atomic():
        locked = _locked(site, actor, expected_version)
        values = _checked(details, locked.organisation_id, besides=locked.pk)
        changed = {name: value for name, value in values.items() if getattr(locked, name) != value}
        if changed:
            _write(locked, "site.changed", actor, changed)
        return locked


def set_site_active(*, site: Site, active: bool, actor: Actor, expected_version: int) -> Site:
    """Close a site to new orders, or open it again. Raises `NotPermitted`, `LastSite` or `Stale`."""
    with transaction.atomic():
        locked = _locked(site, actor, expected_version)
        others = Site.objects.filter(organisation_id=locked.organisation_id, active=True).exclude(pk=locked.pk)
        if not active and not others.exists():
            raise LastSite(code="site.last")
        if locked.active != active:
            _write(locked, "site.opened" if active else "site.closed", actor, {"active": active})
        return locked


def _locked(site: Site, actor: Actor, expected_version: int) -> Site:
    """The site as it stands now, behind its organisation's lock, so that two people cannot close the last two at once."""
    require(actor, Verb.GRANT, site.organisation_id)
    Organisation.objects.select_for_update().get(pk=site.organisation_id)
    locked: Site = Site.objects.select_for_update().get(pk=site.pk)
    if locked.version != expected_version:
        raise Stale(code="state.stale")
    return locked


def _write(locked: Site, action: str, actor: Actor, changed: dict[str, Any]) -> None:
    locked.version += 1
    for name, value in changed.items():
        setattr(locked, name, value)
    locked.save(update_fields=["version", *changed])
    facts = {"code": locked.code, "changed": sorted(changed)}
    audit.record(actor=actor, action=action, obj=locked, organisation_id=locked.organisation_id, facts=facts)


def _checked(details: SiteDetails, organisation_id: UUID, besides: UUID | None = None) -> dict[str, str]:
    fields: Objections = defaultdict(list)
    values = asdict(details) | {
        "code": details.code.strip().lower(),
        "name": line(details.name, "name", "The name", 200, fields, required=True),
        "address": lines(details.address, "address", "The address", 400, fields, required=True),
        "phone": line(details.phone, "phone", "The telephone number", 60, fields),
        "time_zone": details.time_zone.strip(),
    }
    if not _CODE.fullmatch(values["code"]):
        fields["code"].append("A code has letters, digits and dashes, at most 40, and begins with a letter or digit.")
    elif Site.objects.filter(organisation_id=organisation_id, code=values["code"]).exclude(pk=besides or NOBODY).exists():
        fields["code"].append(f"Another site of this organisation has the code {values['code']}.")
    try:
        validate_zone(values["time_zone"])
    except ValidationError:
        fields["time_zone"].append("This is no time zone. Write it as Europe/Berlin or America/New_York.")
    if fields:
        raise InvalidDetails(fields)
    return values
