"""Providers of an organisation: who asks its orders, and whom the laboratory calls with a critical result.

Each function is one transaction with one event. An order keeps name and contact as they were when it was placed, so that a change
here rewrites no order. Who edits them is in the table of roles: accessioners too, for a new doctor comes at night as well.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts.details import Objections, line
from accounts.errors import InvalidDetails
from accounts.models import Organisation, Provider, User
from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Stale

NPI = "NPI"
_DIALLED = re.compile(r"\d")


@dataclass(frozen=True)
class ProviderDetails:
    """What a person states of a provider."""

    name: str
    phone: str
    identifier_system: str = ""
    identifier: str = ""
    department: str = ""
    alternative: str = ""
    email: str = ""
    login: str = ""  # the address this provider logs in with; blank: he does not


def providers_to_edit(actor: Actor) -> list[Provider]:
    """All providers of the organisations whose list this actor keeps, active ones first."""
    rows = Provider.objects.for_actor(actor, Verb.EDIT_PROVIDERS).select_related("organisation", "user")
    return list(rows.order_by("organisation__name", "-active", "name", "id"))


def provider_to_edit(actor: Actor, pk: UUID) -> Provider:
    """One of them. Raises `NotFound`: to a stranger it does not exist."""
    rows = Provider.objects.for_actor(actor, Verb.EDIT_PROVIDERS).select_related("organisation", "user")
    found: Provider | None = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def providers_for(actor: Actor) -> list[Provider]:
    """Active providers of the organisations this actor places orders for, by name."""
    rows = Provider.objects.for_actor(actor, Verb.PLACE).filter(active=True).select_related("organisation")
    return list(rows.order_by("name", "department", "identifier", "id"))


def providers_of(organisation_id: UUID) -> list[Provider]:
    """Active providers of an organisation, by name, for who may see its orders."""
    return list(Provider.objects.filter(organisation_id=organisation_id, active=True).order_by("name", "department", "id"))


def add_provider(*, organisation: Organisation, details: ProviderDetails, actor: Actor) -> Provider:
    """A new provider. Raises `NotPermitted` or `InvalidDetails`."""
    require(actor, Verb.EDIT_PROVIDERS, organisation.pk)
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        values = _checked(details, organisation.pk)
        made: Provider = Provider.objects.create(organisation=organisation, created_at=clock.now(), **values)
        audit.record(actor=actor, action="provider.added", obj=made, organisation_id=organisation.pk)
        return made


def change_provider(*, provider: Provider, details: ProviderDetails, actor: Actor, expected_version: int) -> Provider:
    """Other details of a provider, for orders placed from now on. Raises `NotPermitted`, `InvalidDetails` or `Stale`."""
    with transaction.atomic():
        locked = _locked(provider, actor, expected_version)
        values = _checked(details, locked.organisation_id, besides=locked.pk)
        changed = {name: value for name, value in values.items() if getattr(locked, name) != value}
        if changed:
            _write(locked, "provider.changed", actor, changed)
        return locked


def set_provider_active(*, provider: Provider, active: bool, actor: Actor, expected_version: int) -> Provider:
    """Take a provider from the order form, or bring him back. Raises `NotPermitted`, `InvalidDetails` or `Stale`."""
    with transaction.atomic():
        locked = _locked(provider, actor, expected_version)
        if active and locked.user_id is not None:
            _require_free(locked.user_id, locked.organisation_id, besides=locked.pk)
        if locked.active != active:
            _write(locked, "provider.opened" if active else "provider.closed", actor, {"active": active})
        return locked


def _locked(provider: Provider, actor: Actor, expected_version: int) -> Provider:
    require(actor, Verb.EDIT_PROVIDERS, provider.organisation_id)
    Organisation.objects.select_for_update().get(pk=provider.organisation_id)
    locked: Provider = Provider.objects.select_for_update().get(pk=provider.pk)
    if locked.version != expected_version:
        raise Stale(code="state.stale")
    return locked


def _write(locked: Provider, action: str, actor: Actor, changed: dict[str, Any]) -> None:
    locked.version += 1
    for name, value in changed.items():
        setattr(locked, name, value)
    locked.save(update_fields=["version", *changed])
    facts = {"changed": sorted(changed)}
    audit.record(actor=actor, action=action, obj=locked, organisation_id=locked.organisation_id, facts=facts)


def _checked(details: ProviderDetails, organisation_id: UUID, besides: UUID | None = None) -> dict[str, Any]:
    fields: Objections = defaultdict(list)
    values: dict[str, Any] = {
        "name": line(details.name, "name", "The name", 200, fields, required=True),
        "phone": line(details.phone, "phone", "The telephone number for critical results", 60, fields, required=True),
        "identifier_system": line(details.identifier_system, "identifier_system", "The kind of number", 120, fields),
        "identifier": line(details.identifier, "identifier", "The number", 80, fields),
        "department": line(details.department, "department", "The department", 120, fields),
        "alternative": line(details.alternative, "alternative", "The alternative", 120, fields),
        "email": line(details.email, "email", "The e-mail address", 254, fields).lower(),
    }
    _number(values, fields, organisation_id, besides)
    if values["phone"] and not _DIALLED.search(values["phone"]):
        fields["phone"].append("A telephone number has digits.")
    if values["email"]:
        try:
            validate_email(values["email"])
        except ValidationError:
            fields["email"].append("This is no e-mail address.")
    values["user_id"] = _login(details.login, fields, organisation_id, besides)
    if fields:
        raise InvalidDetails(fields)
    return values


def _number(values: dict[str, Any], fields: Objections, organisation_id: UUID, besides: UUID | None) -> None:
    system, number = values["identifier_system"], values["identifier"]
    if bool(system) != bool(number):
        fields["identifier" if system else "identifier_system"].append("Kind and number belong together: give both or none.")
    elif system.upper() == NPI and not is_npi(number):
        fields["identifier"].append("This is no NPI: it has ten digits, and the last one proves the others. Look for a slip.")
    elif number and _others(organisation_id, besides).filter(identifier_system=system, identifier=number).exists():
        fields["identifier"].append(f"Another provider of this organisation has {system} {number}.")


def is_npi(number: str) -> bool:
    """Whether it can be a US National Provider Identifier: ten digits, the last by the Luhn formula over 80840 and the rest."""
    if not (number.isascii() and number.isdigit() and len(number) == 10):
        return False
    digits = [int(digit) for digit in "80840" + number]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _login(address: str, fields: Objections, organisation_id: UUID, besides: UUID | None) -> UUID | None:
    """Whose account it is: somebody with a role in this organisation."""
    if not address.strip():
        return None
    user = User.objects.filter(
        email__iexact=address.strip(), is_active=True, memberships__organisation_id=organisation_id, memberships__ended_at=None
    ).first()
    if user is None:
        fields["login"].append("Nobody with a role in this organisation logs in with this address.")
        return None
    try:
        _require_free(user.pk, organisation_id, besides)
    except InvalidDetails as error:
        fields["login"] += error.fields["login"]
    return user.pk


def _require_free(user_id: UUID, organisation_id: UUID, besides: UUID | None) -> None:
    taken = _others(organisation_id, besides).filter(user_id=user_id, active=True).first()
    if taken is not None:
        raise InvalidDetails({"login": [f"This account belongs to the provider {taken.name} already."]})


def _others(organisation_id: UUID, besides: UUID | None) -> Any:
    rows = Provider.objects.filter(organisation_id=organisation_id)
    return rows.exclude(pk=besides) if besides else rows
