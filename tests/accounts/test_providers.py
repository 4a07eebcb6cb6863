"""Providers of an organisation: who asks its orders, and whom the laboratory calls."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts import providers
from accounts.errors import InvalidDetails
from accounts.models import Organisation
from accounts.providers import ProviderDetails
from accounts.roles import Role
from audit.models import Event
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted, Stale
from tests.factories import make_actor, make_organisation, make_provider, make_user

pytestmark = pytest.mark.django_db
RITA = {"name": "Dr Rita Ordering", "phone": "+00 1", "identifier_system": "NPI", "identifier": "1234567893"}


def keeper(organisation: Organisation, role: Role = Role.ACCESSIONER) -> Actor:
    return make_actor(role=role, organisation=organisation)


def add(hospital: Organisation, **changes: str) -> Any:
    return providers.add_provider(organisation=hospital, details=ProviderDetails(**{**RITA, **changes}), actor=keeper(hospital))


def test_a_provider_is_added_changed_and_closed_each_with_an_event_that_names_no_number() -> None:
    hospital = make_organisation()
    made = add(hospital)
    moved = ProviderDetails(**{**RITA, "phone": "+00 2", "alternative": "ward 4, +00 3"})
    changed = providers.change_provider(provider=made, details=moved, actor=keeper(hospital), expected_version=1)
    providers.set_provider_active(provider=made, active=False, actor=keeper(hospital), expected_version=changed.version)
    events = list(Event.objects.filter(object_id=str(made.pk)).order_by("id").values_list("action", "facts"))
    assert [action for action, _ in events] == ["provider.added", "provider.changed", "provider.closed"]
    assert events[1][1] == {"changed": ["alternative", "phone"]} and changed.contact == "+00 2; otherwise ward 4, +00 3"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "missing"),
        ({"name": "Dr\nRita"}, "name", "cannot be printed"),
        ({"phone": ""}, "phone", "missing"),
        ({"phone": "at the desk"}, "phone", "has digits"),
        ({"identifier": "1234567890"}, "identifier", "no NPI"),
        ({"identifier": ""}, "identifier", "belong together"),
        ({"identifier_system": ""}, "identifier_system", "belong together"),
        ({"email": "nowhere"}, "email", "no e-mail address"),
        ({"login": "nobody@example.org"}, "login", "Nobody with a role"),
    ],
)
def test_what_is_wrong_with_a_provider_is_said_at_its_field(changes: dict[str, str], field: str, words: str) -> None:
    with pytest.raises(InvalidDetails) as refused:
        add(make_organisation(), **changes)
    assert list(refused.value.fields) == [field] and words in refused.value.fields[field][0]


def test_one_number_and_one_account_belong_to_one_provider() -> None:
    hospital = make_organisation()
    rita = make_user(role=Role.REQUESTER, organisation=hospital)
    add(hospital, login=rita.email)
    with pytest.raises(InvalidDetails) as refused:
        add(hospital, name="Dr Other", login=rita.email)
    assert set(refused.value.fields) == {"identifier", "login"}
    with pytest.raises(IntegrityError), transaction.atomic():
        make_provider(hospital, user=rita)


def test_a_closed_account_that_belongs_to_another_by_now_does_not_come_back() -> None:
    hospital = make_organisation()
    rita = make_user(role=Role.REQUESTER, organisation=hospital)
    old = make_provider(hospital, user=rita, active=False)
    make_provider(hospital, user=rita)
    with pytest.raises(InvalidDetails):
        providers.set_provider_active(provider=old, active=True, actor=keeper(hospital), expected_version=1)


@pytest.mark.parametrize("role", list(Role))
def test_accessioners_and_administrators_keep_the_list_and_nobody_else(role: Role) -> None:
    hospital = make_organisation()
    actor, details = keeper(hospital, role), ProviderDetails(**RITA)
    if role in (Role.ACCESSIONER, Role.ADMINISTRATOR):
        providers.add_provider(organisation=hospital, details=details, actor=actor)
        return
    with pytest.raises(NotPermitted):
        providers.add_provider(organisation=hospital, details=details, actor=actor)


def test_to_a_stranger_a_provider_does_not_exist_and_a_stale_page_overwrites_nothing() -> None:
    hospital = make_organisation()
    made = add(hospital)
    with pytest.raises(NotFound):
        providers.provider_to_edit(keeper(make_organisation()), made.pk)
    providers.change_provider(
        provider=made, details=ProviderDetails(**{**RITA, "phone": "+00 2"}), actor=keeper(hospital), expected_version=1
    )
    with pytest.raises(Stale):
        providers.set_provider_active(provider=made, active=False, actor=keeper(hospital), expected_version=1)


def test_nobody_orders_in_the_name_of_somebody_elses_providers() -> None:
    hospital, other = make_organisation(), make_organisation()
    make_provider(other)
    mine = make_provider(hospital, "Dr Mine")
    assert providers.providers_for(keeper(hospital, Role.REQUESTER)) == [mine]
