"""Sites of an organisation: one at least, added, changed and closed by its administrator."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from accounts import sites
from accounts.errors import InvalidDetails, LastSite
from accounts.models import Organisation, Site
from accounts.roles import Role
from accounts.sites import SiteDetails
from audit.models import Event
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted, Stale
from tests.factories import make_actor, make_laboratory, make_organisation

pytestmark = pytest.mark.django_db
NORTH = SiteDetails("north", "North campus", "7 Hill Road\n\n 12345 Hilltown ", "+49 30 1", "Europe/Berlin")


def administrator(organisation: Organisation) -> Actor:
    return make_actor(role=Role.ADMINISTRATOR, organisation=organisation)


def test_an_organisation_has_a_site_from_its_first_moment_with_its_own_address_and_zone() -> None:
    organisation = make_organisation(time_zone="Europe/Berlin")
    site = sites.main_site(organisation.pk)
    assert (site.name, site.address, site.time_zone) == (organisation.name, organisation.address, "Europe/Berlin")


def test_a_site_is_added_changed_and_closed_each_with_one_event() -> None:
    laboratory = make_laboratory()
    ada = administrator(laboratory)
    made = sites.add_site(organisation=laboratory, details=NORTH, actor=ada)
    assert (made.address, made.active) == ("7 Hill Road\n12345 Hilltown", True)
    moved = SiteDetails("north", "North campus", "8 Hill Road", "+49 30 1", "Europe/Berlin")
    changed = sites.change_site(site=made, details=moved, actor=ada, expected_version=made.version)
    sites.set_site_active(site=made, active=False, actor=ada, expected_version=changed.version)
    events = Event.objects.filter(object_id=str(made.pk)).order_by("id").values_list("action", "facts")
    assert list(events) == [
        ("site.added", {"code": "north"}),
        ("site.changed", {"code": "north", "changed": ["address"]}),
        ("site.closed", {"code": "north", "changed": ["active"]}),
    ]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"code": "main"}, "code", "Another site"),
        ({"code": "no good"}, "code", "letters, digits and dashes"),
        ({"name": " "}, "name", "missing"),
        ({"address": "\n"}, "address", "missing"),
        ({"phone": "1" * 61}, "phone", "longer than 60"),
        ({"time_zone": "Berlin"}, "time_zone", "no time zone"),
    ],
)
def test_what_is_wrong_with_a_site_is_said_at_its_field(changes: dict[str, str], field: str, words: str) -> None:
    laboratory = make_laboratory()
    with pytest.raises(InvalidDetails) as refused:
        sites.add_site(
            organisation=laboratory, details=SiteDetails(**{**NORTH.__dict__, **changes}), actor=administrator(laboratory)
        )
    assert list(refused.value.fields) == [field] and words in refused.value.fields[field][0]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMINISTRATOR])
def test_nobody_but_an_administrator_edits_sites(role: Role) -> None:
    laboratory = make_laboratory()
    with pytest.raises(NotPermitted):
        sites.add_site(organisation=laboratory, details=NORTH, actor=make_actor(role=role, organisation=laboratory))


def test_to_a_stranger_a_site_does_not_exist() -> None:
    site, stranger = sites.main_site(make_laboratory().pk), administrator(make_laboratory())
    with pytest.raises(NotFound):
        sites.site_to_edit(stranger, site.pk)
    with pytest.raises(NotPermitted):
        sites.change_site(site=site, details=NORTH, actor=stranger, expected_version=site.version)


def test_the_only_open_site_cannot_be_closed() -> None:
    laboratory = make_laboratory()
    site = sites.main_site(laboratory.pk)
    with pytest.raises(LastSite):
        sites.set_site_active(site=site, active=False, actor=administrator(laboratory), expected_version=site.version)


def test_a_stale_page_cannot_overwrite_a_site() -> None:
    laboratory = make_laboratory()
    site, ada = sites.main_site(laboratory.pk), administrator(laboratory)
    sites.change_site(site=site, details=NORTH, actor=ada, expected_version=site.version)
    with pytest.raises(Stale):
        sites.change_site(site=site, details=NORTH, actor=ada, expected_version=site.version)


@pytest.mark.parametrize("deed", [lambda site: site.delete(), lambda site: Site.objects.filter(pk=site.pk).delete()])
def test_the_application_deletes_no_site(deed: Callable[[Site], Any]) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        deed(sites.main_site(make_laboratory().pk))
