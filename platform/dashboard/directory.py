"""Providers and sites as their pages show them: the list, one form to add and to change, and what has to be corrected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from accounts import providers, sites
from accounts.errors import InvalidDetails
from accounts.models import Organisation, Provider, Site
from accounts.providers import ProviderDetails
from accounts.roles import Verb
from accounts.sites import SiteDetails
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotFound, NotPermitted, Refused, Stale

CHANGED = "Somebody has changed this since you opened the page, perhaps you yourself. It is shown here as it stands now."
PROVIDER_FIELDS = (
    # name, label, input type, width, what it is for, needed
    ("name", "Name", "text", "w6", "as printed on reports", True),
    ("department", "Department", "text", "w6", "", False),
    ("phone", "Telephone for critical results", "tel", "w6", "answered at any hour", True),
    ("alternative", "If nobody answers", "text", "w6", "another number, a ward, a pager", False),
    ("identifier_system", "Kind of number", "text", "w3", "such as NPI", False),
    ("identifier", "Number", "text", "w3", "", False),
    ("email", "E-mail", "email", "w6", "", False),
    ("login", "Logs in as", "email", "w6", "the address of an account of this organisation: preselected on its order form", False),
)
SITE_FIELDS = (
    ("name", "Name", "text", "w6", "as printed on reports", True),
    ("code", "Code", "text", "w3", "short and stable, such as north", True),
    ("time_zone", "Time zone", "text", "w3", "such as Europe/Berlin", True),
    ("phone", "Telephone", "tel", "w6", "", False),
    ("address", "Address", "lines", "w12", "as printed on reports", True),
)


@dataclass(frozen=True)
class Field:
    """One field of the form."""

    name: str
    label: str
    kind: str
    width: str
    hint: str
    needed: bool
    value: str
    errors: Sequence[str] = ()


@dataclass
class Form:
    """What is typed of one row; `row` is None for a new one."""

    fields: list[Field]
    organisations: Sequence[Organisation]
    organisation: str = ""
    row: Provider | Site | None = None
    errors: dict[str, list[str]] = field(default_factory=dict)

    @property
    def summary(self) -> list[tuple[str, str]]:
        """(anchor, message) of everything that has to be corrected."""
        return [(f"id_{name}" if name else "main", said) for name, messages in self.errors.items() for said in messages]


def organisations(actor: Actor, verb: Verb) -> list[Organisation]:
    """Where this actor keeps the list. Raises `NotPermitted` for somebody who keeps none."""
    found = list(Organisation.objects.filter(pk__in=actor.organisations(verb)).order_by("name"))
    if not found:
        raise NotPermitted("Your role does not include this list.", code="access.not-permitted")
    return found


def provider_form(
    actor: Actor, row: Provider | None = None, data: Mapping[str, str] | None = None, error: HelicaseError | None = None
) -> Form:
    """The form of a provider."""
    values = {name: getattr(row, name, "") for name, *_ in PROVIDER_FIELDS} | {"login": row.user.email if row and row.user else ""}
    return _form(PROVIDER_FIELDS, data or values, organisations(actor, Verb.EDIT_PROVIDERS), row, error, data)


def site_form(
    actor: Actor, row: Site | None = None, data: Mapping[str, str] | None = None, error: HelicaseError | None = None
) -> Form:
    """The form of a site; a new one has the zone of its organisation."""
    offered = organisations(actor, Verb.GRANT)
    values = {name: getattr(row, name, "") for name, *_ in SITE_FIELDS}
    if row is None:
        values["time_zone"] = offered[0].time_zone
    return _form(SITE_FIELDS, data or values, offered, row, error, data)


def save_provider(actor: Actor, data: Mapping[str, str], row: Provider | None = None) -> str:
    """Add or change a provider, close him or open him again; the words that say so. Raises what the services raise."""
    if row is None:
        made = providers.add_provider(
            organisation=_organisation(actor, Verb.EDIT_PROVIDERS, data), details=_provider(data), actor=actor
        )
        return f"{made.name} is added."
    seen = _version(data)
    if data.get("do") in ("close", "open"):
        is_open = data["do"] == "open"
        providers.set_provider_active(provider=row, active=is_open, actor=actor, expected_version=seen)
        return f"{row.name} {'can be named on orders again' if is_open else 'is no longer offered on the order form'}."
    changed = providers.change_provider(provider=row, details=_provider(data), actor=actor, expected_version=seen)
    return f"{changed.name} is changed, for orders from now on."


def save_site(actor: Actor, data: Mapping[str, str], row: Site | None = None) -> str:
    """Add or change a site, close it or open it again; the words that say so. Raises what the services raise."""
    if row is None:
        made = sites.add_site(organisation=_organisation(actor, Verb.GRANT, data), details=_site(data), actor=actor)
        return f"{made.name} is added."
    seen = _version(data)
    if data.get("do") in ("close", "open"):
        is_open = data["do"] == "open"
        sites.set_site_active(site=row, active=is_open, actor=actor, expected_version=seen)
        return f"{row.name} {'can be named on orders again' if is_open else 'is closed to new orders'}."
    changed = sites.change_site(site=row, details=_site(data), actor=actor, expected_version=seen)
    return f"{changed.name} is changed, for orders and drafts of reports from now on."


def _provider(data: Mapping[str, str]) -> ProviderDetails:
    return ProviderDetails(**{one.name: data.get(one.name, "") for one in fields(ProviderDetails)})


def _site(data: Mapping[str, str]) -> SiteDetails:
    return SiteDetails(**{one.name: data.get(one.name, "") for one in fields(SiteDetails)})


def _organisation(actor: Actor, verb: Verb, data: Mapping[str, str]) -> Organisation:
    offered = organisations(actor, verb)
    if len(offered) == 1:
        return offered[0]
    try:
        wanted = UUID(data.get("organisation", ""))
    except ValueError:
        raise InvalidDetails({"organisation": ["Choose the organisation."]}) from None
    found = next((one for one in offered if one.pk == wanted), None)
    if found is None:
        raise NotFound
    return found


def _version(data: Mapping[str, str]) -> int:
    said = data.get("version", "")
    return int(said) if said.isdecimal() and len(said) < 10 else 0


def _form(
    columns: Sequence[tuple[str, str, str, str, str, bool]],
    values: Mapping[str, Any],
    offered: Sequence[Organisation],
    row: Provider | Site | None,
    error: HelicaseError | None,
    data: Mapping[str, str] | None,
) -> Form:
    errors = _errors(error)
    made = [Field(*column, value=str(values.get(column[0], "")), errors=errors.get(column[0], [])) for column in columns]
    return Form(made, offered, (data or {}).get("organisation", ""), row, errors)


def _errors(error: HelicaseError | None) -> dict[str, list[str]]:
    if isinstance(error, InvalidDetails):
        return error.fields
    if isinstance(error, Refused | Stale):
        return {"": [CHANGED if isinstance(error, Stale) else str(error)]}
    return {}
